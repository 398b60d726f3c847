#include "archive/sorted_names.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/dir_reader.h"

namespace lamina::archive {

Result<SortedNames> SortedNames::read(Kernel& kernel, int dir) {
  SortedNames out;
  Listing listing;
  DirEntry entry;
  for (;;) {
    TRY_ASSIGN(bool more, listing.fill(kernel, dir, ""));
    if (!more) {
      break;
    }
    while (listing.next(&entry)) {
      out.starts_.push_back(static_cast<uint32_t>(out.bytes_.size()));
      out.bytes_.append(entry.name, entry.length + 1);
    }
    if (out.bytes_.size() > std::numeric_limits<uint32_t>::max()) {
      return fail(make_error(E2BIG, "getdents64", ""));
    }
  }
  const char* bytes = out.bytes_.c_str();
  std::ranges::sort(out.starts_, [bytes](uint32_t a, uint32_t b) {
    return std::strcmp(bytes + a, bytes + b) < 0;
  });
  // A directory that changes while it is read may show a name twice.
  // clang 14 cannot read the library's ranges of this kind.
  auto again = std::unique(out.starts_.begin(), out.starts_.end(),
                           [bytes](uint32_t a, uint32_t b) {
                             return std::strcmp(bytes + a, bytes + b) == 0;
                           });
  out.starts_.erase(again, out.starts_.end());
  return out;
}

}  // namespace lamina::archive
