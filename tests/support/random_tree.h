// Trees by chance, the same for the same seed: text for `make_tree`.
//
//   const std::uint64_t seed = seed_from_environment(1);
//   SCOPED_TRACE("LAMINA_SEED=" + std::to_string(seed));
//   make_tree(temp.path("src"), random_tree(seed, 200));
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lamina::test {

// What a random tree may hold. The defaults can be made by an ordinary user
// on any file system; the rest need root, or a file system that has them.
struct RandomTreeOptions {
  enum class May { no, yes };
  May owners = May::no;
  May devices = May::no;
  May user_xattrs = May::no;
  May trusted_xattrs = May::no;
  May set_id = May::no;
};

// A tree of about `entries` names: directories, files with and without holes,
// hard links of every kind, symlinks, fifos, sockets, odd names, times before
// 1970. Uses no generator of the standard library, whose numbers differ from
// one library to the next.
std::string random_tree(std::uint64_t seed, std::size_t entries,
                        const RandomTreeOptions& options = {});

// All that root can make on ext4, xfs and btrfs.
inline constexpr RandomTreeOptions kEverything = {
    .owners = RandomTreeOptions::May::yes,
    .devices = RandomTreeOptions::May::yes,
    .user_xattrs = RandomTreeOptions::May::yes,
    .trusted_xattrs = RandomTreeOptions::May::yes,
    .set_id = RandomTreeOptions::May::yes};

// $LAMINA_SEED when it is set, else `otherwise`.
std::uint64_t seed_from_environment(std::uint64_t otherwise);

}  // namespace lamina::test
