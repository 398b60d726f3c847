// The text of a tree, without any file system: escaping, one line as a
// struct, and back. `tree.h` explains the language; this is its grammar.
// Pure functions, free for any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lamina::test {

// Printable ASCII stays; space, backslash and every other byte become \xHH.
std::string escape(std::string_view bytes);

// The reverse. Throws SupportError for a backslash not followed by xHH.
std::string unescape(std::string_view text);

// One inode, or one more name of one, as its line says it. What the line does
// not say is absent.
struct Node {
  std::string kind = {};  // dir file symlink fifo socket char block
  std::string path = {};  // "." is the root
  std::string target = {};
  std::optional<mode_t> mode = {};
  std::optional<std::pair<uid_t, gid_t>> owner = {};
  std::optional<timespec> mtime = {};
  std::optional<timespec> atime = {};
  std::optional<std::uint64_t> size = {};
  std::optional<std::string> text = {};
  std::optional<std::uint64_t> fill = {};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> data =
      {};  // offset, length
  std::optional<std::string> digest = {};
  std::optional<dev_t> device = {};
  std::optional<unsigned> link = {};
  std::map<std::string, std::string> xattrs = {};
};

// Reads one line. Throws SupportError that names the word it did not like.
Node parse_node(std::string_view line);

// Writes one line, without the newline.
std::string format_node(const Node& node);

}  // namespace lamina::test
