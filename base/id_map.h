// Owner ids translated by ranges, as user namespaces do.
//
// A value; any thread may read one. An empty map leaves ids as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lamina {

struct IdRange {
  uint32_t inside = 0;   // First id as the tree holds it.
  uint32_t outside = 0;  // First id as it is written.
  uint32_t count = 0;
};

class IdMap {
 public:
  IdMap() = default;

  // Parses "INSIDE:OUTSIDE:COUNT[,INSIDE:OUTSIDE:COUNT...]", the order of
  // user_namespaces(7). "0:100000:65536" makes root 100000. Ranges that
  // overlap, are empty or pass 4294967294 are refused.
  static Result<IdMap> parse(std::string_view text);

  bool empty() const { return ranges_.empty(); }

  // The id to write for `id`. An id in no range is an error that names the id
  // and the ranges; `subject` names the inode.
  Result<uint32_t> map(uint32_t id, std::string_view subject) const;

  // The same without an Error to build: false when `id` is in no range.
  bool try_map(uint32_t id, uint32_t* out) const;

  // "0:100000:65536", as parse() takes it.
  std::string to_string() const;

 private:
  std::vector<IdRange> ranges_;
};

}  // namespace lamina
