// Layers that are wrong in every way: each is refused in one line that names
// the entry, what it made is removed, and nothing beside the root is touched.
#include <cerrno>
#include <string>
#include <vector>

#include "tests/archive/applying.h"
#include "tests/archive/packing.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/mounts.h"

namespace lamina::archive::test {
namespace {

using lamina::test::FaultyKernel;
using lamina::test::make_tree;
using lamina::test::Op;

class ApplyBadInput : public Applying {
 protected:
  ApplyBadInput() {
    make_tree(temp_.path("outside"), "dir . mode=0751\nfile file text=x");
    outside_ = lamina::test::dump_tree(temp_.path("outside"));
  }

  // Refused in one line with this in it, by an absent and by an empty root.
  void expect_refused(const std::string& blob, const std::string& why,
                      const ApplyOptions& options = {}) {
    const std::string absent = error_of(apply_raw(blob, options));
    EXPECT_NE(absent.find(why), std::string::npos) << why << ": " << absent;
    EXPECT_EQ(absent.find('\n'), std::string::npos);
    EXPECT_FALSE(exists("")) << why;

    make_tree(root(), "dir . mode=2711 mtime=5");
    const std::string before = dump();
    EXPECT_EQ(error_of(apply_raw(blob, options)), absent);
    EXPECT_EQ(dump(), before) << why;
    lamina::test::remove_all_at(temp_.fd(), "root");
    EXPECT_EQ(lamina::test::dump_tree(temp_.path("outside")), outside_) << why;
  }

  const std::string good_ = directory("d") + file("d/f", "some bytes");
  std::string outside_;
};

TEST_F(ApplyBadInput, EveryPrefixOfAPackedLayerIsRefused) {
  const std::string tar = good_ + end_marker();
  for (const std::string& blob : {gzip_member(tar), zstd_frame(tar)}) {
    for (size_t size = 1; size < blob.size(); ++size) {
      EXPECT_NE(error_of(apply_raw(blob.substr(0, size))), "") << size;
      EXPECT_FALSE(exists("")) << size;
    }
  }
}

TEST_F(ApplyBadInput, FlippedBitsEndInATreeOrInNothing) {
  const std::string tar =
      good_ + symlink("s", "../outside") + hard_link("h", "d/f") + end_marker();
  for (size_t bit = 0; bit < (tar.size() - end_marker().size()) * 8;
       bit += 13) {
    std::string flipped = tar;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto applied = apply_raw(flipped);
    ASSERT_EQ(exists(""), applied.has_value()) << bit;
    if (applied) {
      lamina::test::remove_all_at(temp_.fd(), "root");
    }
  }
  EXPECT_EQ(lamina::test::dump_tree(temp_.path("outside")), outside_);
}

TEST_F(ApplyBadInput, FlippedBitsOfAPackedLayerAreSeenOrMeanNothing) {
  const std::string tar = good_ + end_marker();
  const std::string blob = gzip_member(tar);
  const auto good = apply_raw(tar);
  ASSERT_TRUE(good);
  lamina::test::remove_all_at(temp_.fd(), "root");
  // Behind the header, whose time and system nobody checks.
  for (size_t bit = 10 * 8; bit < blob.size() * 8; bit += 7) {
    std::string flipped = blob;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto applied = apply_raw(flipped);
    ASSERT_EQ(exists(""), applied.has_value()) << bit;
    if (applied) {  // Codes that nothing uses may be of any length.
      EXPECT_EQ(applied->diff_id, good->diff_id) << bit;
      lamina::test::remove_all_at(temp_.fd(), "root");
    }
  }
}

TEST_F(ApplyBadInput, TrailersThatDoNotFitAreRefused) {
  const std::string blob = gzip_member(good_ + end_marker());
  for (size_t from_end : {1U, 5U}) {  // Length, checksum.
    std::string wrong = blob;
    wrong[wrong.size() - from_end] ^= 1;
    expect_refused(wrong, "gzip");
  }
  expect_refused(blob + "garbage", "gzip");
  expect_refused(zstd_frame(good_ + end_marker()) + "garbage", "zstd");
}

TEST_F(ApplyBadInput, NamesAreEscapedInTheLineThatNamesThem) {
  expect_refused(good_ + hard_link("bad\n\x1b[2J", "missing") + end_marker(),
                 "'bad\\n\\x1b[2J'");
  expect_refused(good_ + file("../x", "") + end_marker(), "'../x'");
  expect_refused(good_ + file("d/../../x", "") + end_marker(), "'d/../../x'");
  expect_refused(good_ + long_member('L', std::string(300, 'n')) +
                     file("x", "") + end_marker(),
                 "nnn");
  expect_refused(good_ + pax_member({{"path", std::string(5000, 'a')}}) +
                     file("x", "") + end_marker(),
                 "read tar");
  expect_refused(good_ + pax_member({{"path", std::string("a\0b", 3)}}) +
                     file("x", "") + end_marker(),
                 "NUL");
}

TEST_F(ApplyBadInput, ParentsThatAreNoDirectoriesAreRefused) {
  expect_refused(good_ + file("d/f/x", "") + end_marker(), "'d/f/x'");
  expect_refused(symlink("l", "nowhere") + file("l/x", "") + end_marker(),
                 "dangling");
  expect_refused(symlink("l", "l") + file("l/x", "") + end_marker(), "ELOOP");
}

TEST_F(ApplyBadInput, LinksStayInsideTheRoot) {
  for (const std::string& to :
       {std::string("../outside/file"), temp_.path("outside") + "/file"}) {
    expect_refused(good_ + hard_link("h", to) + end_marker(), "");
  }
  expect_refused(symlink("s", temp_.path("outside")) +
                     hard_link("h", "s/file") + end_marker(),
                 "'h'");
  expect_refused(good_ + hard_link("h", "h") + end_marker(), "'h'");
  expect_refused(good_ + hard_link("h", "d") + end_marker(), "'h'");
}

TEST_F(ApplyBadInput, SizesNearTheLargestNumberAreRefused) {
  for (const char* size : {"9223372036854775807", "9223372036854775808",
                           "18446744073709551615", "-1", "1e3"}) {
    expect_refused(
        good_ + pax_member({{"size", size}}) + file("big", "") + end_marker(),
        "read tar");
  }
  expect_refused(
      good_ +
          pax_member({{"GNU.sparse.map", "0,1,9223372036854775807,1"},
                      {"GNU.sparse.size", "9223372036854775807"}}) +
          file("sparse", "xx") + end_marker(),
      "");
  expect_refused(good_ +
                     pax_member({{"GNU.sparse.map", "0,2,1,2"},
                                 {"GNU.sparse.size", "4"}}) +
                     file("overlap", "xxxx") + end_marker(),
                 "overlap");
}

TEST_F(ApplyBadInput, OwnersAndDevicesOutOfRangeAreRefused) {
  for (const char* id : {"4294967295", "4294967296", "-1"}) {
    expect_refused(
        good_ + pax_member({{"uid", id}}) + file("f", "") + end_marker(),
        "read tar");
  }
  std::string device = header_block({.name = "dev", .type = '3'});
  device.replace(329, 7, "0010000");  // Major 4096.
  expect_refused(good_ + with_checksum(device) + end_marker(), "dev");
}

TEST_F(ApplyBadInput, AttributesThatAreNoneAreRefused) {
  expect_refused(
      good_ + pax_member({{"SCHILY.xattr.security.capability", "short"}}) +
          file("f", "") + end_marker(),
      "on 'f'");
}

TEST_F(ApplyBadInput, BombsEndAtTheLimitsThatAreSet) {
  const std::string zeros(8 << 20, '\0');
  const std::string bomb =
      gzip_member(good_ + file("zeros", zeros) + end_marker());
  ApplyOptions size;
  size.max_bytes = 1 << 20;
  expect_refused(bomb, "more than 1048576 bytes when unpacked", size);
  ApplyOptions ratio;
  ratio.max_ratio = 50;
  expect_refused(bomb, "more than 50 times its size", ratio);
  ApplyOptions entries;
  entries.max_entries = 2;
  expect_refused(bomb, "entries", entries);
}

TEST_F(ApplyBadInput, ADestinationThatFillsUpIsCleanedUp) {
  std::string members = good_;
  for (int i = 0; i < 100; ++i) {
    members += file("f" + std::to_string(i), "x");
  }
  for (unsigned workers : {1U, 4U}) {
    for (Op op : {Op::pwrite, Op::create, Op::mkdirat, Op::close}) {
      FaultyKernel kernel;
      kernel.on(op).call(op == Op::mkdirat ? 2 : 5).fails(ENOSPC);
      ApplyOptions options;
      options.kernel = &kernel;
      options.workers = workers;
      const auto applied = apply(members + directory("last"), options);
      if (!applied) {
        EXPECT_NE(error_of(applied).find("(ENOSPC)"), std::string::npos);
        EXPECT_FALSE(exists("")) << error_of(applied);
      } else {
        lamina::test::remove_all_at(temp_.fd(), "root");
      }
    }
  }
}

}  // namespace
}  // namespace lamina::archive::test
