#include "cache/read.h"

#include <array>
#include <cerrno>

#include "base/dir_reader.h"
#include "base/kernel.h"

namespace lamina::cache {

Result<std::vector<std::string>> read_names(const Fd& dir,
                                            std::string_view subject,
                                            size_t most) {
  std::vector<std::string> out;
  Listing listing;
  while (out.size() <= most) {
    TRY_ASSIGN(bool more, listing.fill(real_kernel(), dir.get(), subject));
    if (!more) {
      break;
    }
    for (DirEntry entry; out.size() <= most && listing.next(&entry);) {
      out.emplace_back(entry.name_view());
    }
  }
  return out;
}

Result<std::string> read_all(const Fd& file, std::string_view subject,
                             size_t most) {
  std::string out;
  for (;;) {
    std::array<char, 65536> buffer;
    ssize_t n = real_kernel().read(file.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return fail(last_error("read", subject));
    }
    if (n == 0) {
      return out;
    }
    out.append(buffer.data(), static_cast<size_t>(n));
    if (out.size() > most) {
      return fail(make_error(EFBIG, "read", subject));
    }
  }
}

}  // namespace lamina::cache
