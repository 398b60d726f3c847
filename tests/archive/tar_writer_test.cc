#include "archive/tar_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/kernel.h"
#include "gtest/gtest.h"
#include "tests/archive/tar_maker.h"

namespace lamina::archive {
namespace {

using namespace std::string_view_literals;
using test::listing;

// Gathers what a writer writes.
class Archive {
 public:
  Archive()
      : writer_([this](Bytes bytes) -> Result<void> {
          text_ += text_of(bytes);
          return {};
        }) {}

  TarWriter& writer() { return writer_; }

  void add(const TarEntry& entry, std::string_view body = {}) {
    auto added = writer_.add(entry);
    ASSERT_TRUE(added) << added.error().message();
    auto written = writer_.body(bytes_of(body));
    ASSERT_TRUE(written) << written.error().message();
  }

  std::string finish() {
    auto finished = writer_.finish();
    EXPECT_TRUE(finished) << finished.error().message();
    EXPECT_EQ(writer_.written(), text_.size());
    return text_;
  }

 private:
  std::string text_;
  TarWriter writer_;
};

TarEntry file(std::string_view path, uint64_t size = 0) {
  TarEntry entry;
  entry.path = path;
  entry.mode = 0644;
  entry.mtime.tv_sec = 1700000000;
  entry.size = size;
  return entry;
}

// The error of adding one entry, "" if there is none.
std::string why_refused(const TarEntry& entry) {
  Archive archive;
  auto added = archive.writer().add(entry);
  return added ? "" : added.error().message();
}

// How many blocks the headers of one entry take: 1 without PAX.
size_t header_blocks(const TarEntry& entry) {
  Archive archive;
  auto added = archive.writer().add(entry);
  EXPECT_TRUE(added) << added.error().message();
  return archive.writer().written() / 512;
}

TEST(TarWriter, AnEmptyArchiveIs1024ZeroBytes) {
  Archive archive;

  EXPECT_EQ(archive.finish(), std::string(1024, '\0'));
}

TEST(TarWriter, WritesWhatTheReaderReads) {
  Archive archive;
  TarEntry directory = file("etc");
  directory.type = EntryType::directory;
  directory.mode = 01777;
  archive.add(directory);
  archive.add(file("etc/conf", 5), "hello");
  TarEntry link = file("etc/hard");
  link.type = EntryType::hard_link;
  link.link = "etc/conf";
  archive.add(link);
  TarEntry symlink = file("etc/soft");
  symlink.type = EntryType::symlink;
  symlink.link = "../else//where/";
  symlink.mode = 0777;
  archive.add(symlink);
  TarEntry device = file("dev");
  device.type = EntryType::char_device;
  device.dev_major = 4095;
  device.dev_minor = 1048575;
  archive.add(device);
  device.type = EntryType::block_device;
  archive.add(device);
  TarEntry fifo = file("fifo");
  fifo.type = EntryType::fifo;
  fifo.uid = 7;
  fifo.gid = 2097151;
  archive.add(fifo);

  EXPECT_EQ(listing(archive.finish()),
            "0 dir etc mode=1777 owner=0:0 mtime=1700000000\n"
            "1 file etc/conf mode=644 owner=0:0 mtime=1700000000 size=5 "
            "body=hello\n"
            "2 link etc/hard -> etc/conf mode=644 owner=0:0 "
            "mtime=1700000000\n"
            "3 symlink etc/soft -> ../else//where/ mode=777 owner=0:0 "
            "mtime=1700000000\n"
            "4 char dev mode=644 owner=0:0 mtime=1700000000 "
            "dev=4095:1048575\n"
            "5 block dev mode=644 owner=0:0 mtime=1700000000 "
            "dev=4095:1048575\n"
            "6 fifo fifo mode=644 owner=7:2097151 mtime=1700000000\n");
}

TEST(TarWriter, WritesPlainUstarByteForByte) {
  Archive archive;
  archive.add(file("a", 3), "abc");

  std::string tar = archive.finish();

  ASSERT_EQ(tar.size(), 2048U);
  EXPECT_EQ(tar.substr(0, 1), "a");
  EXPECT_EQ(tar.substr(100, 8), "0000644\0"sv);
  EXPECT_EQ(tar.substr(108, 8), "0000000\0"sv);
  EXPECT_EQ(tar.substr(124, 12), "00000000003\0"sv);
  EXPECT_EQ(tar.substr(136, 12), "14524770400\0"sv);
  EXPECT_EQ(tar.substr(154, 3), "\0 0"sv);
  EXPECT_EQ(tar.substr(257, 8), "ustar\00000"sv);
  EXPECT_EQ(tar.substr(265, 64), std::string(64, '\0')) << "no user names";
  EXPECT_EQ(tar.substr(329, 16), "0000000\0000000000\0"sv);
  EXPECT_EQ(tar.substr(512, 512), "abc" + std::string(509, '\0'));
}

TEST(TarWriter, TakesPaxOnlyForWhatDoesNotFit) {
  const std::string hundred(100, 'n');
  const std::string split = std::string(155, 'p') + "/" + hundred;
  auto path = [](std::string_view name) { return header_blocks(file(name)); };

  EXPECT_EQ(path(hundred), 1U);
  EXPECT_EQ(path(hundred + "n"), 3U);
  EXPECT_EQ(path(split), 1U);
  EXPECT_EQ(path("p" + split), 3U);
  EXPECT_EQ(path(split + "n"), 3U);
  EXPECT_EQ(path("n\xC3\xA9"), 3U);
  EXPECT_EQ(path("new\nline"), 1U);

  TarEntry entry = file("a");
  entry.uid = 2097151;
  entry.size = 077777777777;
  entry.mtime = {.tv_sec = 0, .tv_nsec = 0};
  EXPECT_EQ(header_blocks(entry), 1U);
  for (int field = 0; field < 5; ++field) {
    TarEntry large = entry;
    large.uid += field == 0 ? 1 : 0;
    large.gid = field == 1 ? 2097152 : 0;
    large.size += field == 2 ? 1 : 0;
    large.mtime.tv_sec = field == 3 ? -1 : 0;
    large.mtime.tv_nsec = field == 4 ? 1 : 0;
    EXPECT_EQ(header_blocks(large), 3U) << field;
  }
}

TEST(TarWriter, KeepsWhatTakesPax) {
  const std::string deep =
      std::string(200, 'd') + "/" + std::string(200, 'e') + "/f";
  TarEntry entry = file(deep, 2);
  entry.uid = 4294967294;
  entry.gid = 3000000;
  entry.mtime = {.tv_sec = -2, .tv_nsec = 750000000};
  entry.xattrs = {{"user.z", "last"},
                  {"user.a", "\0=\n"sv},
                  {"security.capability", "\1\0\0\2"sv}};
  TarEntry link = file("l\xFF");
  link.type = EntryType::symlink;
  const std::string target(300, 't');
  link.link = target;
  TarEntry directory = file(std::string_view(deep).substr(0, 401));
  directory.type = EntryType::directory;
  Archive archive;
  archive.add(entry, "ab");
  archive.add(link);
  archive.add(directory);

  EXPECT_EQ(listing(archive.finish()),
            "0 file " + deep +
                " mode=644 owner=4294967294:3000000 mtime=-1.25 "
                "security.capability=\\x01\\x00\\x00\\x02 "
                "user.a=\\x00=\\x0a user.z=last size=2 body=ab\n"
                "1 symlink l\\xff -> " +
                target +
                " mode=644 owner=0:0 mtime=1700000000\n"
                "2 dir " +
                deep.substr(0, 401) + " mode=644 owner=0:0 mtime=1700000000\n");
}

TEST(TarWriter, TheSameEntriesAreTheSameBytesInAnyOrderOfAttributes) {
  auto archive_of = [](std::vector<Xattr> xattrs) {
    Archive archive;
    TarEntry entry = file("a");
    entry.xattrs = std::move(xattrs);
    archive.add(entry);
    return archive.finish();
  };

  EXPECT_EQ(archive_of({{"user.a", "1"}, {"user.b", "2"}}),
            archive_of({{"user.b", "2"}, {"user.a", "1"}}));
}

TEST(TarWriter, RefusesWhatWouldNotComeBack) {
  auto changed = [](auto change) {
    TarEntry entry = file("name");
    change(entry);
    return why_refused(entry);
  };
  using Entry = TarEntry;

  EXPECT_EQ(changed([](Entry& e) { e.path = ""; }), "write tar: an empty name");
  EXPECT_NE(changed([](Entry& e) { e.path = "a\0b"sv; }), "");
  EXPECT_NE(changed([](Entry& e) { e.path = "a/"; }), "");
  EXPECT_NE(changed([](Entry& e) { e.type = EntryType::symlink; }), "");
  EXPECT_NE(changed([](Entry& e) { e.type = EntryType::hard_link; }), "");
  EXPECT_NE(changed([](Entry& e) {
              e.type = EntryType::symlink;
              e.link = "a\0b"sv;
            }),
            "");
  EXPECT_NE(changed([](Entry& e) {
              e.type = EntryType::directory;
              e.size = 1;
            }),
            "");
  EXPECT_NE(changed([](Entry& e) { e.size = uint64_t{1} << 63; }), "");
  EXPECT_NE(changed([](Entry& e) { e.uid = 4294967295; }), "");
  EXPECT_NE(changed([](Entry& e) {
              e.type = EntryType::char_device;
              e.dev_major = 4096;
            }),
            "");
  EXPECT_NE(changed([](Entry& e) { e.xattrs = {{"user.empty", ""}}; }), "");
  EXPECT_NE(changed([](Entry& e) { e.xattrs = {{"user.a=b", "v"}}; }), "");
  const std::string huge(1 << 20, 'v');
  EXPECT_EQ(changed([&](Entry& e) {
              e.xattrs = {{"user.huge", huge}};
            }),
            "write tar on 'name': names and attributes are too long");
}

TEST(TarWriter, FailsWhenABodyIsShorterOrLongerThanAnnounced) {
  Archive shorter;
  ASSERT_TRUE(shorter.writer().add(file("shrank", 5)));
  ASSERT_TRUE(shorter.writer().body(bytes_of("1234")));
  auto next = shorter.writer().add(file("b"));
  Archive unfinished;
  ASSERT_TRUE(unfinished.writer().add(file("shrank", 5)));
  auto finish = unfinished.writer().finish();
  Archive longer;
  ASSERT_TRUE(longer.writer().add(file("grew", 5)));
  ASSERT_TRUE(longer.writer().body(bytes_of("123")));
  auto more = longer.writer().body(bytes_of("456"));

  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().message(),
            "write tar on 'shrank': the file has fewer bytes than announced");
  EXPECT_FALSE(finish);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message(),
            "write tar on 'grew': the file has more bytes than announced");
  EXPECT_EQ(longer.writer().add(file("b")).error(), more.error())
      << "and stays so";
  EXPECT_EQ(longer.writer().finish().error(), more.error());
}

TEST(TarWriter, WritesBodiesOfAnySizeInAnyPieces) {
  const std::string body(700'001, 'b');
  for (size_t piece : {1000U, 65'537U, 200'000U, 700'001U}) {
    Archive archive;
    ASSERT_TRUE(archive.writer().add(file("big", body.size())));
    for (size_t at = 0; at < body.size(); at += piece) {
      ASSERT_TRUE(archive.writer().body(
          bytes_of(std::string_view(body).substr(at, piece))));
    }
    archive.add(file("after", 1), "1");
    std::string tar = archive.finish();

    EXPECT_EQ(tar.size() % 512, 0U);
    EXPECT_NE(listing(tar).find("size=700001"), std::string::npos);
    EXPECT_NE(listing(tar).find("1 file after"), std::string::npos);
  }
}

TEST(TarWriter, SpoilsWhatReadersWouldTakeForAWholeArchive) {
  auto spoiled = [](uint64_t size, std::string_view body) {
    std::string text;
    TarWriter writer([&text](Bytes bytes) -> Result<void> {
      text += text_of(bytes);
      return {};
    });
    EXPECT_TRUE(writer.add(file("a", size)));
    EXPECT_TRUE(writer.body(bytes_of(body)));
    writer.spoil();
    EXPECT_FALSE(writer.finish()) << "given up";
    return text;
  };

  for (const std::string& tar :
       {spoiled(0, ""), spoiled(3, "abc"), spoiled(512, std::string(512, 'x')),
        spoiled(3, "ab"), spoiled(600, std::string(512, 'x'))}) {
    EXPECT_NE(listing(tar).find("\nread tar on "), std::string::npos)
        << listing(tar);
  }
}

TEST(TarWriter, HandsOnTheErrorOfItsSink) {
  TarWriter writer([](Bytes) -> Result<void> {
    return fail(make_error(ENOSPC, "write", "out.tar"));
  });
  ASSERT_TRUE(writer.add(file("a"))) << "gathered, not written yet";

  EXPECT_EQ(writer.finish().error().code, ENOSPC);
  EXPECT_EQ(writer.add(file("b")).error().code, ENOSPC);
}

TEST(FdSink, WritesAllAndNamesItsSubject) {
  Fd memory(::memfd_create("tar", MFD_CLOEXEC));
  ASSERT_TRUE(memory.valid());
  TarWriter writer(fd_sink(real_kernel(), memory, "out.tar"));
  ASSERT_TRUE(writer.add(file("a", 3)));
  ASSERT_TRUE(writer.body(bytes_of("abc")));
  ASSERT_TRUE(writer.finish());
  std::string tar(4096, '\0');
  tar.resize(
      static_cast<size_t>(::pread(memory.get(), tar.data(), tar.size(), 0)));
  Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));

  EXPECT_NE(listing(tar).find("body=abc"), std::string::npos);
  auto refused = fd_sink(real_kernel(), full, "out.tar")(bytes_of("x"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "write on 'out.tar': No space left on device (ENOSPC)");
}

}  // namespace
}  // namespace lamina::archive
