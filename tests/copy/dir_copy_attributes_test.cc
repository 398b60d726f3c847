// What an inode holds besides its bytes, each by name.
#include <sys/sysmacros.h>

#include <optional>

#include "tests/copy/attribute_values.h"
#include "tests/copy/copying.h"
#include "tests/support/mounts.h"
#include "tests/support/tree_text.h"

namespace lamina::test {
namespace {

using copy::Options;
using copy::Owner;
using copy::Xattrs;

constexpr DumpOptions kAll = {.atimes = Shown::yes};

// On ext4, which holds them all; one for the whole suite.
class DirCopyAttributes : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (why_not(FileSystem::ext4).empty())
      mount_.emplace(FileSystem::ext4);
  }
  static void TearDownTestSuite() { mount_.reset(); }

  void SetUp() override {
    if (!mount_)
      GTEST_SKIP() << why_not(FileSystem::ext4);
    temp_.emplace(mount_->path());
  }

  std::string src(const std::string& name) const {
    return temp_->path("src/" + name);
  }
  std::string dst(const std::string& name) const {
    return temp_->path("dst/" + name);
  }
  void make_source(std::string_view text) {
    make_tree(temp_->path("src"), text);
  }
  Result<copy::Report> copy(const Options& options = {}) {
    return copy::dir_copy(temp_->path("src"), temp_->path("dst"), options);
  }
  // Copies with both widths; all must be as it is in the source now.
  void expect_kept() {
    const std::string want = dump_tree(temp_->path("src"), kAll);
    ASSERT_EQ(error_of(copy()), "");
    EXPECT_EQ(dump_tree(temp_->path("dst"), kAll), want);
  }

 private:
  inline static std::optional<Mount> mount_;
  std::optional<TempDir> temp_;
};

TEST_F(DirCopyAttributes, KeepsSetIdBitsOfAnotherOwner) {
  make_source(
      "file setuid mode=4755 owner=1000:1001 text=x\n"
      "file setgid mode=2755 owner=1000:1001 text=x\n"
      "file empty mode=6711 owner=1000:1001\n"
      "dir setgid_dir mode=2775 owner=0:50\n"
      "file setgid_dir/inside owner=0:0 text=x\n"
      "dir sticky mode=1777\n");

  expect_kept();
}

TEST_F(DirCopyAttributes, KeepsCapabilitiesOfAnotherOwner) {
  make_source("file ping mode=0755 owner=7:8 text=x" +
              xattr_field(kCapability, capability()) +
              xattr_field("user.also", "y"));

  expect_kept();

  EXPECT_EQ(xattr_of(dst("ping"), kCapability), capability());
}

TEST_F(DirCopyAttributes, KeepsAccessControlLists) {
  make_source("dir d owner=5:6" + xattr_field(kAccessAcl, acl_for_user(12)) +
              xattr_field(kDefaultAcl, acl_for_user(34)) + "\nfile d/f text=x" +
              xattr_field(kAccessAcl, acl_for_group(56)) +
              "\nfile d/plain mode=0640 text=x\ndir d/below\n");

  expect_kept();
}

TEST_F(DirCopyAttributes, KeepsAttributesNobodyHasHeardOf) {
  const std::string user = xattr_field("user.lamina.new", "1");
  const std::string trusted = xattr_field("trusted.lamina.new", {"\0b", 2});
  make_source("file f text=x" + user + trusted + "\ndir d" + user + trusted +
              "\nsymlink s -> f" + trusted + "\nfifo p" + trusted +
              "\nchar c dev=1:3" + trusted + "\nsocket k" + trusted);

  expect_kept();
}

TEST_F(DirCopyAttributes, KeepsMoreAttributesThanTheFirstGuessHolds) {
  std::string fields;
  for (int i = 0; i < 40; ++i)
    fields +=
        xattr_field("user." + std::string(40, 'n') + std::to_string(i), "v");
  make_source("file names text=x" + fields + "\nfile value text=x" +
              xattr_field("user.large", std::string(3000, 'v')));

  expect_kept();
}

TEST_F(DirCopyAttributes, KeepsTimesOfDirectoriesThatHoldDirectories) {
  make_source(
      "dir . mtime=10.000000001 atime=11.000000001\n"
      "dir a mtime=20.000000002 atime=21.000000002\n"
      "dir a/b mtime=30.000000003 atime=31.000000003\n"
      "file a/b/c text=x mtime=40.000000004 atime=41.000000004\n");

  expect_kept();
}

TEST_F(DirCopyAttributes, KeepsTimesBeforeTheEpochOfEveryKind) {
  make_source(
      "dir d mtime=-1.000000001 atime=-2.999999999\n"
      "file f text=x mtime=-1.000000001 atime=-2.999999999\n"
      "symlink s -> f mtime=-1.000000001 atime=-2.999999999\n"
      "fifo p mtime=-1.000000001 atime=-2.999999999\n"
      "char c dev=1:3 mtime=-1.000000001 atime=-2.999999999\n");

  expect_kept();
}

TEST_F(DirCopyAttributes, KeepsSocketsAsSocketsAndDevicesWithTheirNumbers) {
  make_source(
      "socket s mode=0600\nfifo p mode=0620\n"
      "char c dev=4095:1048575 mode=0666\nblock b dev=259:70000\n"
      "char whiteout dev=0:0\n");

  expect_kept();

  EXPECT_TRUE(S_ISSOCK(stat_of(dst("s")).st_mode));
  EXPECT_EQ(major(stat_of(dst("c")).st_rdev), 4095U);
  EXPECT_EQ(minor(stat_of(dst("c")).st_rdev), 1048575U);
}

TEST_F(DirCopyAttributes, KeepsNamesAndTargetsOfAnyBytes) {
  std::string every;
  for (int byte = 1; byte < 256; ++byte) {
    if (byte != '/')
      every += static_cast<char>(byte);
  }
  const std::string first = escape(every.substr(0, 127));
  const std::string second = escape(every.substr(127));
  make_source("file " + first + " text=x\ndir " + second + "\nsymlink " +
              second + "/" + first + " -> " + first + second +
              "\nfile .hidden text=x\nfile ... text=x\n");

  expect_kept();
}

TEST_F(DirCopyAttributes, KeepsOnlyWhatAnImageCarriesWhenAsked) {
  make_source("file f text=x" + xattr_field(kCapability, capability()) +
              xattr_field("user.kept", "1") +
              xattr_field("user.overlay.opaque", "y") +
              xattr_field("trusted.overlay.opaque", "y") +
              xattr_field("trusted.other", "1") +
              xattr_field(kAccessAcl, acl_for_user(3)));
  Options options;
  options.xattrs = Xattrs::image;

  ASSERT_EQ(error_of(copy(options)), "");

  EXPECT_EQ(xattr_of(dst("f"), kCapability), capability());
  EXPECT_EQ(xattr_of(dst("f"), "user.kept"), "1");
  EXPECT_EQ(xattr_of(dst("f"), kAccessAcl), acl_for_user(3));
  EXPECT_EQ(xattr_of(dst("f"), "user.overlay.opaque"), "(none)");
  EXPECT_EQ(xattr_of(dst("f"), "trusted.overlay.opaque"), "(none)");
  EXPECT_EQ(xattr_of(dst("f"), "trusted.other"), "(none)");
}

TEST_F(DirCopyAttributes, KeepsNoneWhenAskedToKeepNone) {
  make_source("file f text=x" + xattr_field("user.a", "1") +
              "\nsymlink s -> f" + xattr_field("trusted.a", "1"));
  Options options;
  options.xattrs = Xattrs::none;

  ASSERT_EQ(error_of(copy(options)), "");

  EXPECT_EQ(xattr_of(dst("f"), "user.a"), "(none)");
  EXPECT_EQ(xattr_of(dst("s"), "trusted.a"), "(none)");
}

TEST_F(DirCopyAttributes, MapsOwnersAlsoInsideAttributes) {
  make_source("file f text=x mode=4750 owner=1000:1001" +
              xattr_field(kAccessAcl, acl_for_user(1002)) +
              "\nsymlink s -> f owner=1003:0\n");
  Options options;
  options.owner = Owner::mapped;
  options.uid_map = IdMap::parse("0:100000:65536").value();
  options.gid_map = IdMap::parse("0:200000:65536").value();

  ASSERT_EQ(error_of(copy(options)), "");

  EXPECT_EQ(stat_of(dst("f")).st_uid, 101000U);
  EXPECT_EQ(stat_of(dst("f")).st_gid, 201001U);
  EXPECT_EQ(stat_of(dst("f")).st_mode & 07777U, 04770U);
  EXPECT_EQ(xattr_of(dst("f"), kAccessAcl), acl_for_user(101002));
  EXPECT_EQ(stat_of(dst("s")).st_uid, 101003U);
  EXPECT_EQ(stat_of(dst("")).st_uid, 100000U);
}

TEST_F(DirCopyAttributes, RefusesAnOwnerThatIsInNoRange) {
  make_source("file f text=x owner=70000:0\n");
  Options options;
  options.owner = Owner::mapped;
  options.uid_map = IdMap::parse("0:100000:65536").value();
  options.gid_map = options.uid_map;

  const auto report = copy(options);

  EXPECT_EQ(error_of(report),
            "map owner on 'f': id 70000 is not in the map 0:100000:65536: "
            "Invalid argument (EINVAL)");
  EXPECT_FALSE(exists(dst("")));
}

TEST_F(DirCopyAttributes, GivesFilesToTheCallerWithoutSetIdBits) {
  make_source(
      "file theirs mode=6755 owner=1000:1000 text=x\n"
      "file ours mode=4755 owner=0:0 text=x\n");
  Options options;
  options.owner = Owner::none;

  const auto report = copy(options);

  ASSERT_EQ(error_of(report), "");
  EXPECT_EQ(stat_of(dst("theirs")).st_uid, 0U);
  EXPECT_EQ(stat_of(dst("theirs")).st_mode & 07777U, 0755U);
  EXPECT_EQ(stat_of(dst("ours")).st_mode & 07777U, 04755U);
  EXPECT_EQ(report->forgiven_modes, 1U);
  EXPECT_NE(report->first_forgiven.find("set-id bits"), std::string::npos);
}

}  // namespace
}  // namespace lamina::test
