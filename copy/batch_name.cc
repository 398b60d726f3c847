#include "copy/batch_name.h"

#include <linux/limits.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace lamina::copy {

namespace {

tl::unexpected<Error> refuse(int code, std::string_view why) {
  return fail(make_error(code, "write", "", why));
}

bool is_clean(std::string_view part) {
  return !part.empty() && part != "." && part != "..";
}

// Calls `use` with each part between slashes, empty ones too, while it is true.
template <typename Use>
void each_part(std::string_view path, Use use) {
  for (size_t at = 0;;) {
    size_t end = std::min(path.find('/', at), path.size());
    if (!use(path.substr(at, end - at)) || end == path.size()) {
      return;
    }
    at = end + 1;
  }
}

Result<std::string_view> rebuild(std::string_view path, std::string& storage) {
  std::vector<std::string_view> kept;
  bool inside = true;
  each_part(path, [&](std::string_view part) {
    if (is_clean(part)) {
      kept.push_back(part);
    } else if (part == "..") {
      inside = !kept.empty();
      if (inside) {
        kept.pop_back();
      }
    }
    return inside;
  });
  if (!inside) {
    return refuse(EINVAL, "the name leaves the root");
  }
  storage.clear();
  for (std::string_view part : kept) {
    if (!storage.empty()) {
      storage += '/';
    }
    storage += part;
  }
  return std::string_view(storage);
}

}  // namespace

Result<std::string_view> clean_batch_name(std::string_view path,
                                          std::string& storage) {
  if (path.empty()) {
    return refuse(EINVAL, "the name is empty");
  }
  if (path.find('\0') != std::string_view::npos) {
    return refuse(EINVAL, "a NUL in the name");
  }
  if (path.front() == '/') {
    return refuse(EINVAL, "the name is absolute");
  }
  bool clean = true;
  bool fits = true;
  std::string_view last;
  each_part(path, [&](std::string_view part) {
    fits = part.size() <= NAME_MAX;
    clean = clean && is_clean(part);
    last = part;
    return fits;
  });
  if (!fits) {
    return refuse(ENAMETOOLONG, "a component of the name is over 255 bytes");
  }
  if (clean) {
    return path;
  }
  TRY_ASSIGN(std::string_view cleaned, rebuild(path, storage));
  if (!is_clean(last)) {
    return refuse(EINVAL, "the name is that of a directory");
  }
  return cleaned;
}

}  // namespace lamina::copy
