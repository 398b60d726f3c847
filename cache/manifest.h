// What a tree is, without its bytes: directories, files by digest, symlinks.
//
// As JSON, one object:
//
//   {"lamina_tree": 1,
//    "directories": [{"path": "lib"}],
//    "files": [{"path": "bin/tool", "digest": "sha256:...", "executable":
//    true},
//              {"path": "a.txt", "digest": "sha256:...", "size": 12,
//               "mode": "0640", "mtime_ns": 1700000000000000000}],
//    "symlinks": [{"path": "sh", "target": "bin/tool"}]}
//
// Each list may be left out. Paths are relative to the tree, components parted
// by one slash; parents need not be listed. Names that are not UTF-8 are given
// in base64, as "path_b64" and "target_b64". A digest is that of the file's
// bytes. A file is read-only, 0444 or, where it is executable, 0555; "mode"
// (octal) and "mtime_ns" (nanoseconds since 1970) give it others, and then it
// shares its inode with nothing. "size", where given, is compared with the
// blob's. Keys that are not listed here are refused.
//
// Values; free for any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/digest.h"
#include "base/error.h"

namespace lamina::cache {

struct TreeFile {
  std::string path;
  archive::Digest digest;
  bool executable = false;
  std::optional<uint64_t> size;
  std::optional<mode_t> mode;  // 0 to 0777.
  std::optional<int64_t> mtime_ns;

  friend bool operator==(const TreeFile&, const TreeFile&) = default;
};

// The mode that a file has in the tree.
mode_t mode_of(const TreeFile& file);

struct TreeLink {
  std::string path;
  std::string target;

  friend bool operator==(const TreeLink&, const TreeLink&) = default;
};

struct Manifest {
  std::vector<std::string> directories;
  std::vector<TreeFile> files;
  std::vector<TreeLink> symlinks;

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Bounds of what is accepted.
inline constexpr size_t kMostManifestBytes = size_t{256} << 20;
inline constexpr size_t kMostTreeEntries = size_t{4} << 20;
inline constexpr size_t kMostTreeDepth = 512;  // Components of a path.
inline constexpr size_t kMostPathBytes = size_t{64} << 10;

// Adds the parents that are not listed, sorts each list by bytes, and checks
// every path: no empty component, no "." or "..", none over 255 bytes, no NUL,
// none twice, and none below a file or a symlink. So nothing made from it can
// lie outside the tree. Errors name the path.
Result<void> normalise(Manifest& manifest);

// Reads the JSON form and normalises it. `subject` names it in errors.
Result<Manifest> parse_manifest(std::string_view json,
                                std::string_view subject);

// Writes the JSON form. Requires a normalised manifest. The same tree gives the
// same bytes, so their digest names the tree.
std::string manifest_json(const Manifest& manifest);

// The digest of some bytes, as "sha256:...".
Result<archive::Digest> digest_of(std::string_view bytes);

}  // namespace lamina::cache
