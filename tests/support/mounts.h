// Real file systems for tests: fresh, private, gone at the end of the scope.
//
//   1. class CopyOnEach : public OnEachFileSystem {};
//   2. TEST_P(CopyOnEach, KeepsTimes) { make_tree(path("src"), ...); ... }
//   3. LAMINA_ON_EACH_FILE_SYSTEM(CopyOnEach);
//
// or, for one of them:
//   const std::string reason = why_not(FileSystem::xfs);
//   if (!reason.empty()) GTEST_SKIP() << reason;
//   const Mount mount(FileSystem::xfs, {.bytes = kSmallestImage});
//
// The test process leaves for its own mount namespace before the first test
// (a gtest environment does that), so a mount is seen by nobody else and ends
// with the process, however that ends. Whoever has entered one already, and
// runs the tests where unshare(2) is refused, sets LAMINA_MOUNTS=private.
// Disk file systems lie in sparse images on /dev/shm that have lost their name
// before the first test line runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace lamina::test {

enum class FileSystem { ext4, xfs, btrfs, tmpfs, overlay };

inline constexpr std::array kFileSystems = {
    FileSystem::ext4, FileSystem::xfs, FileSystem::btrfs, FileSystem::tmpfs,
    FileSystem::overlay};

// "ext4" and so on.
std::string to_string(FileSystem kind);

// Why a file system of this kind cannot be mounted here, "" when it can:
// rights, a missing mkfs, a kernel without it. Tried once per kind.
const std::string& why_not(FileSystem kind);

// What mkfs.xfs and mkfs.btrfs accept at least.
inline constexpr std::uint64_t kSmallestImage = std::uint64_t{300} << 20U;

struct MountOptions {
  std::uint64_t bytes = std::uint64_t{1} << 30U;  // sparse: costs what is used
  std::uint64_t inodes = 0;  // ext4 and tmpfs, overlay too; 0: as many as fit
  std::string options = {};  // more of mount(8)'s -o
};

class Mount {
 public:
  // Throws SupportError when it cannot be made.
  explicit Mount(FileSystem kind, const MountOptions& options = {});
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;
  ~Mount();

  // An empty directory on it, owned by the caller, mode 0755.
  [[nodiscard]] const std::string& path() const { return root_; }
  [[nodiscard]] std::string path(const std::string& name) const {
    return root_ + "/" + name;
  }
  [[nodiscard]] FileSystem kind() const { return kind_; }

  // Uses up space until about `bytes` are left, for tests of a full disk.
  void leave_free(std::uint64_t bytes);
  // Makes it read-only, or writable again.
  void set_read_only();
  void set_writable();

 private:
  void mount_image(const MountOptions& options);
  void mount_memory(const std::string& where, const MountOptions& options);
  void mount_overlay(const MountOptions& options);

  FileSystem kind_;
  TempDir place_;
  std::string point_;  // where it is mounted
  std::string root_;
};

// True when user.* attributes can be set on files in `directory`.
bool holds_user_xattrs(const std::string& directory);

// A test that runs on every kind of file system.
class OnEachFileSystem : public testing::TestWithParam<FileSystem> {
 protected:
  void SetUp() override;
  void TearDown() override { mount_.reset(); }
  virtual MountOptions mount_options() const { return {}; }

  Mount& mount() { return *mount_; }
  [[nodiscard]] std::string path(const std::string& name) const {
    return mount_->path(name);
  }

 private:
  std::optional<Mount> mount_;
};

}  // namespace lamina::test

#define LAMINA_ON_EACH_FILE_SYSTEM(Fixture)                              \
  INSTANTIATE_TEST_SUITE_P(                                              \
      On, Fixture, testing::ValuesIn(::lamina::test::kFileSystems),      \
      [](const testing::TestParamInfo<::lamina::test::FileSystem>& at) { \
        return ::lamina::test::to_string(at.param);                      \
      })
