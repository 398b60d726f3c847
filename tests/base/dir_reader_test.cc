#include "base/dir_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/temp_dir.h"

namespace lamina {
namespace {

using test::TempDir;

// Names so long that a listing takes several buffers full.
constexpr int kNames = 400;

std::string name_of(int i) {
  return "n" + std::to_string(i) + std::string(200, 'x');
}

class ListingOf : public testing::Test {
 protected:
  void make_many() {
    for (int i = 0; i < kNames; ++i) {
      const std::string path = temp_.path(name_of(i));
      ASSERT_EQ(::mknod(path.c_str(), S_IFREG | 0600, 0), 0);
    }
  }

  // Opened anew, at its beginning.
  int open_again() const {
    return ::openat(temp_.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }

  std::multiset<std::string> all_names() const {
    std::multiset<std::string> names;
    for (int i = 0; i < kNames; ++i)
      names.insert(name_of(i));
    return names;
  }

  static void give_all(Listing& listing, std::multiset<std::string>* names) {
    DirEntry entry;
    while (listing.next(&entry))
      names->emplace(entry.name_view());
  }

  TempDir temp_;
};

TEST_F(ListingOf, AnEmptyDirectoryHasNoNames) {
  Listing listing;
  DirEntry entry;
  int fills = 0;

  while (listing.fill(real_kernel(), temp_.fd(), "d").value()) {
    ++fills;
    EXPECT_FALSE(listing.next(&entry)) << entry.name;
  }

  EXPECT_LE(fills, 1);
}

TEST_F(ListingOf, GivesEachNameOnceOverManyBuffers) {
  make_many();
  Listing listing;
  std::multiset<std::string> names;
  int fills = 0;

  while (listing.fill(real_kernel(), temp_.fd(), "d").value()) {
    ++fills;
    give_all(listing, &names);
    EXPECT_TRUE(listing.used_up());
  }

  EXPECT_EQ(names, all_names());
  EXPECT_GT(fills, 1);
}

TEST_F(ListingOf, SaysTypeInodeAndLength) {
  ASSERT_EQ(::mkdirat(temp_.fd(), "dir", 0700), 0);
  struct stat stat {};
  ASSERT_EQ(::fstatat(temp_.fd(), "dir", &stat, 0), 0);
  Listing listing;
  DirEntry entry;
  ASSERT_TRUE(listing.fill(real_kernel(), temp_.fd(), "d").value());

  ASSERT_TRUE(listing.next(&entry));

  EXPECT_STREQ(entry.name, "dir");
  EXPECT_EQ(entry.length, 3U);
  EXPECT_EQ(entry.inode, stat.st_ino);
  EXPECT_TRUE(entry.type == DT_DIR || entry.type == DT_UNKNOWN);
  EXPECT_FALSE(listing.next(&entry));
}

TEST_F(ListingOf, DoesNotTakeOddNamesForDots) {
  std::multiset<std::string> want = {"...", ".a", "..a", ". ", "\n", "\xff"};
  for (const std::string& name : want)
    ASSERT_EQ(::mkdirat(temp_.fd(), name.c_str(), 0700), 0);
  Listing listing;
  std::multiset<std::string> names;

  while (listing.fill(real_kernel(), temp_.fd(), "d").value())
    give_all(listing, &names);

  EXPECT_EQ(names, want);
}

TEST_F(ListingOf, GoesOnBehindAFilledBufferWhenOpenedAgain) {
  make_many();
  Listing listing;
  std::multiset<std::string> names;
  int64_t at = 0;

  for (;;) {
    const test::Descriptor fd(open_again());
    if (at != 0) {
      ASSERT_GE(::lseek(fd.get(), at, SEEK_SET), 0);
    }
    if (!listing.fill(real_kernel(), fd.get(), "d").value())
      break;
    give_all(listing, &names);
    at = listing.end_offset();
  }

  EXPECT_EQ(names, all_names());
}

TEST_F(ListingOf, SplitsOffEntriesForAnotherListing) {
  make_many();
  Listing listing;
  std::multiset<std::string> names;
  DirEntry entry;

  while (listing.fill(real_kernel(), temp_.fd(), "d").value()) {
    ASSERT_TRUE(listing.next(&entry));
    names.emplace(entry.name_view());
    Listing other;
    other.assign(listing.take(7));
    std::multiset<std::string> taken;
    give_all(other, &taken);
    EXPECT_LE(taken.size(), 7U);
    names.merge(taken);
    give_all(listing, &names);
  }

  EXPECT_EQ(names, all_names());
}

TEST_F(ListingOf, TakesNoMoreThanThereIs) {
  ASSERT_EQ(::mkdirat(temp_.fd(), "only", 0700), 0);
  Listing listing;
  ASSERT_TRUE(listing.fill(real_kernel(), temp_.fd(), "d").value());
  Listing other;

  other.assign(listing.take(64));

  std::multiset<std::string> names;
  give_all(other, &names);
  EXPECT_EQ(names, std::multiset<std::string>{"only"});
  EXPECT_TRUE(listing.take(64).empty());
}

TEST_F(ListingOf, NamesTheDirectoryItCouldNotRead) {
  test::FaultyKernel kernel;
  kernel.on(test::Op::getdents).fails(EIO);
  Listing listing;
  DirEntry entry;

  const auto filled = listing.fill(kernel, temp_.fd(), "a/b");

  EXPECT_EQ(filled.error(), make_error(EIO, "getdents64", "a/b"));
  EXPECT_FALSE(listing.next(&entry));
}

}  // namespace
}  // namespace lamina
