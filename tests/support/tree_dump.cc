#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include "tests/support/tree.h"
#include "tests/support/tree_text.h"

namespace lamina::test {
namespace {

constexpr std::uint64_t kShownBytes = 64;
constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325U;
constexpr std::uint64_t kFnvPrime = 0x100000001b3U;

std::string kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR:
      return "dir";
    case S_IFLNK:
      return "symlink";
    case S_IFIFO:
      return "fifo";
    case S_IFSOCK:
      return "socket";
    case S_IFCHR:
      return "char";
    case S_IFBLK:
      return "block";
    default:
      return "file";
  }
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

std::vector<std::string> sorted_names(int directory) {
  const std::unique_ptr<DIR, CloseDir> dir(
      ::fdopendir(open_directory_at(directory, ".").release()));
  if (!dir)
    throw_errno("fdopendir", "");
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..")
      names.push_back(name);
  }
  if (errno != 0)
    throw_errno("readdir", "");
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_target(int parent, const std::string& name) {
  std::array<char, 4097> buffer;
  const ssize_t n =
      ::readlinkat(parent, name.c_str(), buffer.data(), buffer.size());
  if (n < 0)
    throw_errno("readlinkat", name);
  return {buffer.data(), static_cast<std::size_t>(n)};
}

// What mixing in `count` zeros makes of a digest: a product with a power of the
// prime, at a cost that hardly grows with it. So a hole is what it reads as.
std::uint64_t mix_zeros(std::uint64_t digest, std::uint64_t count) {
  for (std::uint64_t power = kFnvPrime; count > 0; count >>= 1U) {
    if ((count & 1U) != 0)
      digest *= power;
    power *= power;
  }
  return digest;
}

// Reads what lies in the file: the places that hold data, and the bytes.
void read_content(int parent, const std::string& name, Shown holes,
                  Node& node) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor fd(::openat(parent, name.c_str(), kFlags | O_NOATIME));
  if (!fd.valid() && errno == EPERM) {
    fd.reset(::openat(parent, name.c_str(), kFlags));
  }
  if (!fd.valid())
    throw_errno("openat", node.path);

  const auto size = static_cast<off_t>(*node.size);
  std::uint64_t digest = kFnvBasis;
  std::string text;
  const bool shown = *node.size <= kShownBytes;
  off_t at = 0;
  std::vector<char> buffer(std::size_t{1} << 16U);
  while (at < size) {
    const off_t begin = ::lseek(fd.get(), at, SEEK_DATA);
    if (begin < 0 && errno != ENXIO)
      throw_errno("lseek", node.path);
    const off_t data = begin < 0 ? size : std::min(begin, size);
    digest = mix_zeros(digest, static_cast<std::uint64_t>(data - at));
    text.append(shown ? static_cast<std::size_t>(data - at) : 0, '\0');
    if (data == size)
      break;
    const off_t end = std::min(::lseek(fd.get(), data, SEEK_HOLE), size);
    if (end < 0)
      throw_errno("lseek", node.path);
    for (at = data; at < end;) {
      const auto want = static_cast<std::size_t>(
          std::min<off_t>(end - at, static_cast<off_t>(buffer.size())));
      const ssize_t n = ::pread(fd.get(), buffer.data(), want, at);
      if (n < 0)
        throw_errno("pread", node.path);
      if (n == 0)
        throw SupportError("shrank while read: " + node.path);
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
      for (const char c : bytes) {
        digest = (digest ^ static_cast<unsigned char>(c)) * kFnvPrime;
      }
      if (shown)
        text += bytes;
      at += n;
    }
    node.data.emplace_back(data, end - data);
  }
  const bool whole = node.data.size() == 1 && node.data[0].second == *node.size;
  if (whole || holes == Shown::no || size == 0)
    node.data.clear();
  if (shown) {
    node.text = text;
  } else {
    std::array<char, 24> hex{};
    std::snprintf(hex.data(), hex.size(), "%016llx",
                  static_cast<unsigned long long>(digest));
    node.digest = hex.data();
  }
}

void read_xattrs(int parent, const std::string& name,
                 const DumpOptions& options, Node& node) {
  const std::string path = proc_path(parent, name);
  std::vector<char> list(65536);
  const ssize_t n = ::llistxattr(path.c_str(), list.data(), list.size());
  if (n < 0 && errno != ENOTSUP)
    throw_errno("llistxattr", node.path);
  std::vector<char> value(65536);
  for (std::size_t at = 0; n > 0 && at < static_cast<std::size_t>(n);) {
    const std::string key = list.data() + at;
    at += key.size() + 1;
    const auto& hidden = options.hidden_xattrs;
    if (std::any_of(hidden.begin(), hidden.end(),
                    [&](const std::string& h) { return key.starts_with(h); })) {
      continue;
    }
    const ssize_t length =
        ::lgetxattr(path.c_str(), key.c_str(), value.data(), value.size());
    if (length < 0)
      throw_errno("lgetxattr " + key, node.path);
    node.xattrs[key] = {value.data(), static_cast<std::size_t>(length)};
  }
}

class Dumper {
 public:
  explicit Dumper(const DumpOptions& options)
      : options_(options) {}

  std::string dump(int root) {
    read(root, ".", ".");
    if (options_.root == Shown::no)
      nodes_.clear();
    walk(Descriptor(::fcntl(root, F_DUPFD_CLOEXEC, 0)));
    return text();
  }

 private:
  struct Frame {
    std::vector<std::string> names = {};
    std::size_t next = 0;
    std::size_t prefix = 0;  // length of the path of this directory, with '/'
  };

  // Holds one directory open however deep it is, and comes back by "..".
  void walk(Descriptor here) {
    std::string prefix;
    std::vector<Frame> stack;
    stack.push_back({.names = sorted_names(here.get())});
    while (true) {
      Frame& frame = stack.back();
      prefix.resize(frame.prefix);
      if (frame.next == frame.names.size()) {
        stack.pop_back();
        if (stack.empty())
          return;
        here.reset(
            ::openat(here.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!here.valid())
          throw_errno("openat", prefix + "..");
        continue;
      }
      const std::string name = frame.names[frame.next++];
      prefix += name;
      if (read(here.get(), name, prefix) == "dir") {
        prefix += '/';
        here = open_directory_at(here.get(), name);
        stack.push_back({.names = sorted_names(here.get()),
                         .next = 0,
                         .prefix = prefix.size()});
      }
    }
  }

  std::string read(int parent, const std::string& name,
                   const std::string& path) {
    struct stat st {};
    if (::fstatat(parent, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
      throw_errno("fstatat", path);
    }
    Node node{.kind = kind_of(st.st_mode), .path = path};
    const std::string kind = node.kind;
    if (kind != "dir" && st.st_nlink > 1) {
      // A further name is the same inode: all there is to say is which.
      const auto [it, first] =
          groups_.try_emplace({st.st_dev, st.st_ino}, groups_.size());
      node.link = static_cast<unsigned>(it->second);
      ++names_[*node.link];
      if (!first) {
        nodes_.push_back(std::move(node));
        return kind;
      }
    }
    node.mode = st.st_mode & 07777U;
    if (options_.owners == Shown::yes)
      node.owner = {st.st_uid, st.st_gid};
    if (options_.mtimes == Shown::yes)
      node.mtime = st.st_mtim;
    if (options_.atimes == Shown::yes)
      node.atime = st.st_atim;
    if (kind == "char" || kind == "block")
      node.device = st.st_rdev;
    if (options_.xattrs == Shown::yes) {
      read_xattrs(parent, name, options_, node);
    }
    if (kind == "symlink") {
      node.target = read_target(parent, name);
      if (node.atime)
        put_back_atime(parent, name, *node.atime);
    }
    if (kind == "file") {
      node.size = static_cast<std::uint64_t>(st.st_size);
      read_content(parent, name, options_.holes, node);
    }
    nodes_.push_back(std::move(node));
    return kind;
  }

  static void put_back_atime(int parent, const std::string& name,
                             const timespec& atime) {
    const std::array<timespec, 2> times = {
        atime, {.tv_sec = 0, .tv_nsec = UTIME_OMIT}};
    if (::utimensat(parent, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) !=
            0 &&
        errno != EROFS) {
      throw_errno("utimensat", name);
    }
  }

  // Groups are numbered here, when it is known which have a second name.
  std::string text() {
    std::map<unsigned, unsigned> numbers;
    std::string out;
    for (Node& node : nodes_) {
      if (node.link && names_[*node.link] < 2)
        node.link.reset();
      if (node.link) {
        const auto next = static_cast<unsigned>(numbers.size() + 1);
        node.link = numbers.try_emplace(*node.link, next).first->second;
      }
      out += format_node(node) + "\n";
    }
    return out;
  }

  const DumpOptions& options_;
  std::vector<Node> nodes_;
  std::map<std::pair<dev_t, ino_t>, std::size_t> groups_;
  std::map<unsigned, unsigned> names_;
};

}  // namespace

std::string dump_tree(int directory, const DumpOptions& options) {
  return Dumper(options).dump(directory);
}

std::string dump_tree(const std::string& path, const DumpOptions& options) {
  return dump_tree(open_directory_at(AT_FDCWD, path).get(), options);
}

std::string dump_difference(std::string_view want, std::string_view got) {
  constexpr int kShownLines = 10;
  std::string out;
  for (int lines = 0; want != got && lines < kShownLines; ++lines) {
    const std::string_view a = want.substr(0, want.find('\n'));
    const std::string_view b = got.substr(0, got.find('\n'));
    // The line that sorts first is the one that the other side lacks, unless
    // both speak of the same name.
    const std::string_view path_a = a.substr(0, a.find(' ', a.find(' ') + 1));
    const std::string_view path_b = b.substr(0, b.find(' ', b.find(' ') + 1));
    const bool take_a = path_a == path_b || b.empty() ||
                        (!a.empty() && got.find(a) == std::string_view::npos);
    const bool take_b = path_a == path_b || !take_a;
    if (a == b) {
      --lines;
    } else {
      if (take_a)
        out.append("- ").append(a).append("\n");
      if (take_b)
        out.append("+ ").append(b).append("\n");
    }
    if (take_a)
      want.remove_prefix(std::min(a.size() + 1, want.size()));
    if (take_b)
      got.remove_prefix(std::min(b.size() + 1, got.size()));
  }
  return out;
}

}  // namespace lamina::test
