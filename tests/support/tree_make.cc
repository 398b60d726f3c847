#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <set>

#include "tests/support/tree.h"
#include "tests/support/tree_text.h"

namespace lamina::test {
namespace {

constexpr std::int64_t kDefaultSeconds = 1'000'000'000;

mode_t type_of(const std::string& kind) {
  if (kind == "fifo")
    return S_IFIFO;
  if (kind == "socket")
    return S_IFSOCK;
  return kind == "char" ? S_IFCHR : S_IFBLK;
}

// Splits "a/b/c" into the path of its directory ("a/b", "" for the root) and
// its own name.
std::pair<std::string, std::string> split(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos)
    return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

// A text, also one that a fuzzer wrote, makes nothing outside its root.
void refuse_outside(const std::string& path) {
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string name = path.substr(begin, end - begin);
    if (name.empty() || name == "." || name == ".." ||
        name.find('\0') != std::string::npos) {
      throw SupportError("bad path '" + escape(path) + "'");
    }
    begin = end + 1;
  }
}

void write_all(int fd, std::uint64_t offset, const char* bytes,
               std::size_t count) {
  while (count > 0) {
    const ssize_t n = ::pwrite(fd, bytes, count, static_cast<off_t>(offset));
    if (n < 0)
      throw_errno("pwrite", "");
    bytes += n;
    offset += static_cast<std::uint64_t>(n);
    count -= static_cast<std::size_t>(n);
  }
}

void write_filling(int fd, std::uint64_t seed, std::uint64_t offset,
                   std::uint64_t length) {
  std::array<char, 65536> buffer;
  while (length > 0) {
    const std::size_t n = std::min<std::uint64_t>(length, buffer.size());
    fill_bytes(seed, offset, buffer.data(), n);
    write_all(fd, offset, buffer.data(), n);
    offset += n;
    length -= n;
  }
}

void write_content(int fd, const Node& node) {
  if (node.digest)
    throw SupportError("a digest is not a content");
  const std::uint64_t seed = node.fill.value_or(1);
  // The size first: xfs allocates ahead of a file that grows by writing, and
  // those blocks would count as data once they are read.
  if (node.size && ::ftruncate(fd, static_cast<off_t>(*node.size)) != 0) {
    throw_errno("ftruncate", node.path);
  }
  if (node.text)
    write_all(fd, 0, node.text->data(), node.text->size());
  for (const auto& [offset, length] : node.data) {
    write_filling(fd, seed, offset, length);
  }
  if (node.fill && node.data.empty()) {
    write_filling(fd, seed, 0, node.size.value_or(0));
  }
}

class Maker {
 public:
  explicit Maker(int root)
      : root_(root) {}

  void add(Node node) {
    fill_defaults(node);
    if (node.path == ".") {
      directories_["."] = std::move(node);
      return;
    }
    refuse_outside(node.path);
    const auto [parent, name] = split(node.path);
    const int fd = enter(parent);
    if (node.kind == "dir") {
      make_directory(fd, name);
      directories_[node.path] = std::move(node);
    } else if (!link_existing(fd, name, node)) {
      create(fd, name, node);
      set_attributes(fd, name, node);
    }
  }

  // Directories get their attributes when nothing is made in them any more:
  // times would be lost, and modes might shut the maker out.
  void finish() {
    if (!directories_.contains("."))
      add({.kind = "dir", .path = "."});
    for (auto it = directories_.rbegin(); it != directories_.rend(); ++it) {
      const auto [parent, name] = split(it->first);
      set_attributes(enter(parent), name, it->second);
    }
  }

 private:
  void fill_defaults(Node& node) {
    ++count_;
    if (!node.mtime)
      node.mtime = {kDefaultSeconds, count_};
    if (!node.atime)
      node.atime = {kDefaultSeconds + 1, count_};
    if (!node.mode)
      node.mode = node.kind == "dir" ? 0755 : 0644;
  }

  // Opens the directory `path`, making what is missing. Remembers the last
  // one, and goes on from there where it can: a deep tree is made in one walk.
  int enter(const std::string& path) {
    if (path.empty())
      return root_;
    const bool below =
        here_.valid() && path.starts_with(here_path_) &&
        (path.size() == here_path_.size() || path[here_path_.size()] == '/');
    if (!below) {
      here_ = Descriptor(::fcntl(root_, F_DUPFD_CLOEXEC, 0));
      here_path_.clear();
    }
    while (here_path_.size() < path.size()) {
      const std::size_t begin = here_path_.empty() ? 0 : here_path_.size() + 1;
      const std::size_t end = std::min(path.find('/', begin), path.size());
      const std::string name = path.substr(begin, end - begin);
      here_path_ = path.substr(0, end);
      if (!directories_.contains(here_path_)) {
        make_directory(here_.get(), name);
        Node implied{.kind = "dir", .path = here_path_};
        fill_defaults(implied);
        directories_[here_path_] = std::move(implied);
      }
      here_ = open_directory_at(here_.get(), name);
    }
    return here_.get();
  }

  static void make_directory(int parent, const std::string& name) {
    if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) {
      throw_errno("mkdirat", name);
    }
  }

  // True when `node` is one more name of an inode made before.
  bool link_existing(int parent, const std::string& name, const Node& node) {
    if (!node.link)
      return false;
    const auto [it, first] = links_.try_emplace(*node.link, node.path);
    if (first)
      return false;
    // The first name may lie anywhere, also too deep for one path.
    const auto [old_parent, old_name] = split(it->second);
    Descriptor old(::fcntl(root_, F_DUPFD_CLOEXEC, 0));
    for (std::size_t begin = 0; begin < old_parent.size();) {
      const std::size_t end =
          std::min(old_parent.find('/', begin), old_parent.size());
      old = open_directory_at(old.get(), old_parent.substr(begin, end - begin));
      begin = end + 1;
    }
    if (::linkat(old.get(), old_name.c_str(), parent, name.c_str(), 0) != 0) {
      throw_errno("linkat", node.path);
    }
    return true;
  }

  static void create(int parent, const std::string& name, const Node& node) {
    if (node.kind == "file") {
      const Descriptor fd(::openat(
          parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (!fd.valid())
        throw_errno("openat", node.path);
      write_content(fd.get(), node);
    } else if (node.kind == "symlink") {
      if (::symlinkat(node.target.c_str(), parent, name.c_str()) != 0) {
        throw_errno("symlinkat", node.path);
      }
    } else if (::mknodat(parent, name.c_str(), type_of(node.kind) | 0600,
                         node.device.value_or(0)) != 0) {
      throw_errno("mknodat", node.path);
    }
  }

  static void set_attributes(int parent, const std::string& name,
                             const Node& node) {
    const std::string path = proc_path(parent, name);
    if (node.owner &&
        ::fchownat(parent, name.c_str(), node.owner->first, node.owner->second,
                   AT_SYMLINK_NOFOLLOW) != 0) {
      throw_errno("fchownat", node.path);
    }
    if (node.kind != "symlink" &&
        ::fchmodat(parent, name.c_str(), *node.mode, 0) != 0) {
      throw_errno("fchmodat", node.path);
    }
    for (const auto& [key, value] : node.xattrs) {
      if (::lsetxattr(path.c_str(), key.c_str(), value.data(), value.size(),
                      0) != 0) {
        throw_errno("lsetxattr " + key, node.path);
      }
    }
    const std::array<timespec, 2> times = {*node.atime, *node.mtime};
    if (::utimensat(parent, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) !=
        0) {
      throw_errno("utimensat", node.path);
    }
  }

  int root_;
  Descriptor here_;
  std::string here_path_;
  std::int32_t count_ = 0;
  std::map<std::string, Node> directories_;
  std::map<unsigned, std::string> links_;
};

}  // namespace

void make_tree(int directory, std::string_view text) {
  Maker maker(directory);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos || line[begin] == '#')
      continue;
    try {
      maker.add(parse_node(line));
    } catch (const SupportError& error) {
      throw SupportError("line " + std::to_string(number) + ": " +
                         error.what());
    }
  }
  maker.finish();
}

void make_tree(const std::string& path, std::string_view text) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    throw_errno("mkdir", path);
  }
  make_tree(open_directory(path).get(), text);
}

Descriptor make_chain(int directory, std::size_t depth,
                      const std::string& name) {
  Descriptor here(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  for (std::size_t i = 0; i < depth; ++i) {
    if (::mkdirat(here.get(), name.c_str(), 0755) != 0) {
      throw_errno("mkdirat", name);
    }
    here = open_directory_at(here.get(), name);
  }
  return here;
}

void fill_bytes(std::uint64_t seed, std::uint64_t offset, char* bytes,
                std::size_t count) {
  // One 64-bit word for each eight bytes of the file, so that any part can be
  // made alone (splitmix64, Steele, Lea, Flood 2014).
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t at = offset + i;
    std::uint64_t word = (seed << 32U) + (at >> 3U) * 0x9e3779b97f4a7c15U;
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
    word ^= word >> 31U;
    bytes[i] = static_cast<char>((word >> ((at & 7U) * 8U)) & 0xffU);
  }
}

}  // namespace lamina::test
