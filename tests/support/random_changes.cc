#include "tests/support/random_changes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tests/support/temp_dir.h"

namespace lamina::test {
namespace {

namespace fs = std::filesystem;
using May = RandomTreeOptions::May;

class TreeChanger {
 public:
  TreeChanger(const std::string& root, std::uint64_t seed,
              const RandomTreeOptions& options)
      : root_(root),
        state_(seed),
        options_(options) {}

  void change() {
    list();
    switch (below(12)) {
      case 0:
      case 1:
        return remove(any());
      case 2:
        return rename(any(), fresh_name());
      case 3:
      case 4:
        return link(any_other(), chance(50) ? fresh_name() : any_other());
      case 5:
      case 6:
        return touch_directory(any_directory());
      case 7:
        return make_file(any_other(), 1);
      default:
        return make(chance(40) ? any() : fresh_name());
    }
  }

 private:
  std::uint64_t below(std::uint64_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33U) % bound;
  }
  bool chance(std::uint64_t percent) { return below(100) < percent; }

  // In the order of names: the kernel's is another on each file system.
  void list() {
    names_.clear();
    directories_ = {root_};
    for (const auto& entry : fs::recursive_directory_iterator(root_)) {
      names_.push_back(entry.path().string());
      if (entry.symlink_status().type() == fs::file_type::directory) {
        directories_.push_back(names_.back());
      }
    }
    std::sort(names_.begin(), names_.end());
    std::sort(directories_.begin(), directories_.end());
  }

  std::string any() {
    return names_.empty() ? fresh_name() : names_[below(names_.size())];
  }
  std::string any_directory() {
    return directories_[below(directories_.size())];
  }
  std::string any_other() {
    for (int i = 0; i < 20; ++i) {
      std::string name = any();
      if (!is_directory(name))
        return name;
    }
    return fresh_name();
  }
  std::string fresh_name() {
    static const char* const kOdd[] = {"", "\n", "\xff", ".", " ", "A"};
    return any_directory() + "/" + kOdd[below(6)] + "m" +
           std::to_string(below(1000));
  }

  static bool is_directory(const std::string& path) {
    struct stat stat {};
    return ::lstat(path.c_str(), &stat) == 0 && S_ISDIR(stat.st_mode);
  }

  void remove(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    struct stat stat {};
    if (::lstat(path.c_str(), &stat) != 0)
      return;
    const Descriptor parent = open_directory(path.substr(0, slash));
    remove_all_at(parent.get(), path.substr(slash + 1));
  }

  // Fails where `to` lies in `from`, and that is fine.
  void rename(const std::string& from, const std::string& to) {
    if (from != to && !to.starts_with(from + "/")) {
      remove(to);
      [[maybe_unused]] int ignored = ::rename(from.c_str(), to.c_str());
    }
  }

  void link(const std::string& from, const std::string& to) {
    if (from != to && !is_directory(from)) {
      remove(to);
      [[maybe_unused]] int ignored = ::link(from.c_str(), to.c_str());
    }
  }

  void make(const std::string& path) {
    remove(path);
    switch (below(8)) {
      case 0:
        ::mkdir(path.c_str(), 0755);
        return touch_directory(path);
      case 1:
        [[fallthrough]];
      case 2:
        [[maybe_unused]] int ignored;
        ignored = ::symlink(chance(50) ? "m1" : "/else", path.c_str());
        return set_time(path);
      case 3:
        if (options_.devices == May::yes) {
          ::mknod(path.c_str(), S_IFCHR | 0600,
                  makedev(static_cast<unsigned>(below(9)) + 1, 3));
        } else {
          ::mkfifo(path.c_str(), 0600);
        }
        return set_time(path);
      default:
        return make_file(path, below(4) == 0 ? below(200'000) : below(900));
    }
  }

  void make_file(const std::string& path, std::size_t size) {
    remove(path);
    std::ofstream(path, std::ios::binary)
        << std::string(size, static_cast<char>('a' + below(26)));
    set_attributes(path);
    set_time(path);
  }

  void touch_directory(const std::string& path) {
    if (chance(60)) {
      set_attributes(path);
      ::chmod(path.c_str(), static_cast<mode_t>(0700U | below(0100U)));
    }
    set_time(path);
  }

  void set_attributes(const std::string& path) {
    if (options_.owners == May::yes && chance(30)) {
      [[maybe_unused]] int ignored =
          ::lchown(path.c_str(), static_cast<uid_t>(below(70'000)),
                   static_cast<gid_t>(below(3'000'000)));
    }
    ::chmod(path.c_str(), static_cast<mode_t>(0600U | below(0200U)));
    if (options_.set_id == May::yes && chance(10)) {
      ::chmod(path.c_str(), 06755);
    }
    if (options_.user_xattrs == May::yes && chance(20)) {
      const std::string value(below(30) + 1, 'v');
      ::lsetxattr(path.c_str(), "user.m", value.data(), value.size(), 0);
    }
  }

  void set_time(const std::string& path) {
    const timespec time = {
        .tv_sec = static_cast<time_t>(below(4'000'000'000)) - 1'000'000'000,
        .tv_nsec =
            chance(30) ? 0 : static_cast<std::int32_t>(below(1'000'000'000))};
    const timespec times[2] = {time, time};
    ::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);
  }

  const std::string root_;
  std::uint64_t state_;
  const RandomTreeOptions options_;
  std::vector<std::string> names_;
  std::vector<std::string> directories_;
};

}  // namespace

void change_tree(const std::string& path, std::uint64_t seed, std::size_t count,
                 const RandomTreeOptions& options) {
  TreeChanger changer(path, seed, options);
  for (std::size_t i = 0; i < count; ++i) {
    changer.change();
  }
}

void remove_sockets(const std::string& path) {
  std::vector<fs::path> sockets;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (entry.symlink_status().type() == fs::file_type::socket) {
      sockets.push_back(entry.path());
    }
  }
  for (const fs::path& socket : sockets) {
    fs::remove(socket);
  }
}

}  // namespace lamina::test
