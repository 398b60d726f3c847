// Changes to a tree by chance, the same for the same seed and tree.
//
//   change_tree(temp.path("upper"), seed, 40);
//
// Files, links, renames, removals, other kinds, attributes and times. A file is
// never written to: what changes is a new inode under its name, so a tree that
// shares its inodes with another (hard links) leaves that one as it was; names
// of one inode are made, parted and joined. Sockets are not made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/support/random_tree.h"

namespace lamina::test {

void change_tree(const std::string& path, std::uint64_t seed, std::size_t count,
                 const RandomTreeOptions& options = {});

// Removes all sockets below `path`: no layer can hold them.
void remove_sockets(const std::string& path);

}  // namespace lamina::test
