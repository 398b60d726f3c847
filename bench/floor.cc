// The floor: makes the tree SRC again at DST with the fewest system calls that
// give names, contents, owners, modes and times, from a list already in memory,
// and prints the milliseconds that the making took; reading the list is not
// counted. A yardstick, not a copier: it knows neither xattrs nor devices.
//
// usage: floor SRC DST WIDTH clone|copy

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Status = struct stat;

struct Entry {
  std::string name;
  Status status;
  std::string target;  // What a symlink holds.
};

struct Directory {
  std::string path;  // Below the root: "" or "/a/b".
  Status status;
  std::vector<Entry> entries;  // Those that get an inode of their own.
};

struct Link {
  std::string first;  // Below the root, as is `further`.
  std::string further;
};

struct Tree {
  std::vector<Directory> directories;  // A parent before its children.
  std::vector<Link> links;
};

enum class Bytes { clone, copy };

// Ends the program where `result` says that `what` failed: a floor that left
// work out would flatter nobody.
ssize_t must(ssize_t result, const char* what) {
  if (result < 0) {
    perror(what);
    _exit(1);
  }
  return result;
}

int must(int result, const char* what) {
  must(ssize_t{result}, what);
  return result;
}

std::string link_target(int dir, const std::string& name) {
  std::array<char, 4096> buffer;
  const ssize_t length = must(
      readlinkat(dir, name.c_str(), buffer.data(), buffer.size()), "readlink");
  return {buffer.data(), static_cast<size_t>(length)};
}

class Scanner {
 public:
  explicit Scanner(std::string root)
      : root_(std::move(root)) {}

  Tree scan() {
    Directory top{"", {}, {}};
    must(stat(root_.c_str(), &top.status), "stat");
    tree_.directories.push_back(std::move(top));
    // Grows while it is walked.
    for (size_t i = 0; i < tree_.directories.size(); ++i) {
      scan_directory(i);
    }
    return std::move(tree_);
  }

 private:
  void scan_directory(size_t index) {
    const std::string path = tree_.directories[index].path;
    DIR* dir = opendir((root_ + path).c_str());
    if (dir == nullptr) {
      must(-1, "opendir");
    }
    while (const dirent* found = readdir(dir)) {
      const std::string_view name = found->d_name;
      if (name == "." || name == "..") {
        continue;
      }
      Entry entry{std::string(name), {}, {}};
      must(fstatat(dirfd(dir), found->d_name, &entry.status,
                   AT_SYMLINK_NOFOLLOW),
           "stat");
      if (S_ISLNK(entry.status.st_mode)) {
        entry.target = link_target(dirfd(dir), entry.name);
      }
      std::string below_root = path + "/" + entry.name;
      add(index, std::move(below_root), std::move(entry));
    }
    closedir(dir);
  }

  void add(size_t index, std::string path, Entry entry) {
    const Status& status = entry.status;
    if (S_ISDIR(status.st_mode)) {
      tree_.directories.push_back({std::move(path), status, {}});
      return;
    }
    if (S_ISREG(status.st_mode) && status.st_nlink > 1) {
      const auto [first, is_new] =
          first_names_.try_emplace({status.st_dev, status.st_ino}, path);
      if (!is_new) {
        tree_.links.push_back({first->second, std::move(path)});
        return;
      }
    }
    tree_.directories[index].entries.push_back(std::move(entry));
  }

  std::string root_;
  Tree tree_;
  std::map<std::pair<dev_t, ino_t>, std::string> first_names_;
};

class Maker {
 public:
  Maker(const Tree& tree, std::string source, std::string target, Bytes bytes)
      : tree_(tree),
        source_(std::move(source)),
        target_(std::move(target)),
        bytes_(bytes) {}

  void make(unsigned width) {
    for (const Directory& directory : tree_.directories) {
      must(mkdir((target_ + directory.path).c_str(), 0755), "mkdir");
    }
    {
      std::vector<std::jthread> others;
      for (unsigned i = 1; i < width; ++i) {
        others.emplace_back([this] { fill_directories(); });
      }
      fill_directories();
    }
    for (const Link& made : tree_.links) {
      must(link((target_ + made.first).c_str(),
                (target_ + made.further).c_str()),
           "link");
    }
    for (auto it = tree_.directories.rbegin(); it != tree_.directories.rend();
         ++it) {
      const std::string path = target_ + it->path;
      must(chmod(path.c_str(), it->status.st_mode & 07777), "chmod");
      const std::array times{it->status.st_atim, it->status.st_mtim};
      must(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), "utimensat");
    }
  }

 private:
  void fill_directories() {
    for (size_t i = next_++; i < tree_.directories.size(); i = next_++) {
      const Directory& directory = tree_.directories[i];
      const int from = must(open((source_ + directory.path).c_str(),
                                 O_PATH | O_DIRECTORY | O_CLOEXEC),
                            "open");
      const int to = must(open((target_ + directory.path).c_str(),
                               O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                          "open");
      for (const Entry& entry : directory.entries) {
        if (S_ISREG(entry.status.st_mode)) {
          make_file(from, to, entry);
        } else if (S_ISLNK(entry.status.st_mode)) {
          make_symlink(to, entry);
        }
      }
      close(from);
      close(to);
    }
  }

  void make_file(int from_dir, int to_dir, const Entry& entry) const {
    const Status& status = entry.status;
    const int to = must(
        openat(to_dir, entry.name.c_str(),
               O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 07777),
        "create");
    if (status.st_size > 0) {
      const int from = must(
          openat(from_dir, entry.name.c_str(), O_RDONLY | O_CLOEXEC), "open");
      move_bytes(from, to, status.st_size);
      close(from);
    }
    if (status.st_uid != 0 || status.st_gid != 0) {
      must(fchown(to, status.st_uid, status.st_gid), "fchown");
      if ((status.st_mode & 07000) != 0) {
        must(fchmod(to, status.st_mode & 07777), "fchmod");
      }
    }
    const std::array times{status.st_atim, status.st_mtim};
    must(futimens(to, times.data()), "futimens");
    close(to);
  }

  void move_bytes(int from, int to, off_t left) const {
    if (bytes_ == Bytes::clone && ioctl(to, FICLONE, from) == 0) {
      return;
    }
    while (left > 0) {
      const ssize_t moved = copy_file_range(from, nullptr, to, nullptr,
                                            static_cast<size_t>(left), 0);
      if (moved <= 0) {
        read_and_write(from, to);
        return;
      }
      left -= moved;
    }
  }

  static void read_and_write(int from, int to) {
    static thread_local std::array<char, 1 << 18> buffer;
    while (const ssize_t got =
               must(read(from, buffer.data(), buffer.size()), "read")) {
      must(write(to, buffer.data(), static_cast<size_t>(got)), "write");
    }
  }

  static void make_symlink(int dir, const Entry& entry) {
    must(symlinkat(entry.target.c_str(), dir, entry.name.c_str()), "symlink");
    const std::array times{entry.status.st_atim, entry.status.st_mtim};
    must(utimensat(dir, entry.name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW),
         "utimensat");
  }

  const Tree& tree_;
  std::string source_;
  std::string target_;
  Bytes bytes_;
  std::atomic<size_t> next_{0};
};

}  // namespace

int main(int argc, char** argv) {
  using Clock = std::chrono::steady_clock;
  if (argc != 5) {
    fputs("usage: floor SRC DST WIDTH clone|copy\n", stderr);
    return 2;
  }
  const auto width = static_cast<unsigned>(strtoul(argv[3], nullptr, 10));
  const Bytes bytes =
      std::string_view(argv[4]) == "clone" ? Bytes::clone : Bytes::copy;
  umask(0);
  const Tree tree = Scanner(argv[1]).scan();
  Maker maker(tree, argv[1], argv[2], bytes);

  const Clock::time_point start = Clock::now();
  maker.make(width);
  const std::chrono::duration<double, std::milli> spent = Clock::now() - start;

  printf("%.3f\n", spent.count());
  return 0;
}
