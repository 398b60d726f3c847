// Records of a PAX extended header, pax(1p): "LENGTH KEY=VALUE\n", read and
// written.
//
// Values are slices of the body that was read. Free for any thread; errors name
// no entry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "archive/sparse.h"
#include "base/error.h"

namespace lamina::archive {

// An extended attribute. The value may hold any bytes.
struct Xattr {
  std::string_view name;
  std::string_view value;

  friend bool operator==(const Xattr&, const Xattr&) = default;
};

// The records of a sparse file, still as they are: they mean something only
// together (see sparse.h).
struct PaxSparse {
  std::optional<std::string_view> major;
  std::optional<std::string_view> minor;
  std::optional<std::string_view> name;
  std::optional<int64_t> size;          // of the file, formats 0.0 and 0.1
  std::optional<int64_t> realsize;      // of the file, format 1.0
  std::optional<int64_t> count;         // of the runs
  std::optional<std::string_view> map;  // format 0.1
  std::vector<std::pair<int64_t, int64_t>> runs;  // format 0.0

  bool any() const {
    return major || minor || name || size || realsize || count || map ||
           !runs.empty();
  }
};

// What the records of one header say. A record with an empty value takes back
// what an earlier one of its key said, and leaves the field to the header.
struct PaxRecords {
  std::optional<std::string_view> path;
  std::optional<std::string_view> linkpath;
  std::optional<int64_t> size;
  std::optional<int64_t> uid;
  std::optional<int64_t> gid;
  std::optional<timespec> mtime;
  std::optional<timespec> atime;
  // SCHILY.xattr.*, by name, each name once.
  std::vector<Xattr> xattrs;
  PaxSparse sparse;
};

struct PaxRecord {
  std::string_view key;
  std::string_view value;
};

// Takes the first record off `body`. Fails when its length is not a number, is
// not its length, or goes past the body, when no newline ends it, when it has
// no key or no "=", and on a NUL in the key, or in the value of a name.
// Requires a body that is not empty.
Result<PaxRecord> take_pax_record(std::string_view& body);

// Reads a whole body. Keys that mean nothing here are read over, but must be
// records. Requires that no more than `sparse_limit` runs of a sparse map are
// wanted.
Result<PaxRecords> parse_pax(std::string_view body, size_t sparse_limit);

// Reads an optional minus and decimal digits; fails on all else, and on what 64
// bits cannot hold.
Result<int64_t> parse_pax_number(std::string_view text);

// Reads seconds since 1970 with an optional minus and an optional fraction.
// Digits after the ninth are cut off. The nanoseconds are never negative:
//   "-1.25" -> {-2, 750000000}
Result<timespec> parse_pax_time(std::string_view text);

// Appends a record whose length counts itself.
void append_pax_record(std::string& body, std::string_view key,
                       std::string_view value);

// Writes what parse_pax_time() reads, with no more digits than it takes.
std::string format_pax_time(const timespec& time);

}  // namespace lamina::archive
