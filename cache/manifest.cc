#include "cache/manifest.h"

#include <linux/limits.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>
#include <unordered_set>

namespace lamina::cache {

namespace {

enum class Kind { directory, leaf };

Error refuse(std::string_view path, std::string_view why) {
  return make_error(EINVAL, "manifest", path, why);
}

Result<void> check_path(std::string_view path) {
  if (path.size() > kMostPathBytes) {
    return fail(refuse(path.substr(0, 64), "the path is too long"));
  }
  if (path.find('\0') != std::string_view::npos) {
    return fail(refuse(path, "the path holds a NUL"));
  }
  size_t depth = 0;
  for (size_t at = 0;; ++depth) {
    size_t end = path.find('/', at);
    std::string_view part = path.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") {
      return fail(refuse(path, "the path is empty, absolute or not plain"));
    }
    if (part.size() > NAME_MAX) {
      return fail(refuse(path, "a name is longer than 255 bytes"));
    }
    if (end == std::string_view::npos) {
      break;
    }
    at = end + 1;
  }
  if (depth >= kMostTreeDepth) {
    return fail(refuse(path, "the path is too deep"));
  }
  return {};
}

// The paths of a manifest while it is checked.
class Paths {
 public:
  // Adds a path of the manifest. Its bytes must stay where they are.
  Result<void> add(std::string_view path, Kind kind) {
    TRY(check_path(path));
    if (!known_.emplace(path, kind).second) {
      return fail(refuse(path, "the path is there twice"));
    }
    return {};
  }

  // Adds the parents of a path to `out`, those that are not known yet.
  Result<void> add_parents(std::string_view path,
                           std::unordered_set<std::string>& out) const {
    for (size_t end = path.rfind('/'); end != std::string_view::npos;
         end = path.rfind('/', end - 1)) {
      std::string_view parent = path.substr(0, end);
      auto found = known_.find(parent);
      if (found == known_.end()) {
        if (!out.emplace(parent).second) {
          return {};  // And so are those above it.
        }
        if (out.size() > kMostTreeEntries) {
          return fail(refuse(path, "the tree has too many directories"));
        }
      } else if (found->second != Kind::directory) {
        return fail(refuse(path, "it lies below '" + escape_name(parent) +
                                     "', which is not a directory"));
      }
    }
    return {};
  }

 private:
  std::unordered_map<std::string_view, Kind> known_;
};

Result<void> check_file(const TreeFile& file) {
  if (file.mode && (*file.mode & ~mode_t{0777}) != 0) {
    return fail(refuse(file.path, "its mode is not within 0777"));
  }
  return {};
}

Result<void> check_link(const TreeLink& link) {
  if (link.target.empty() || link.target.size() >= PATH_MAX ||
      link.target.find('\0') != std::string::npos) {
    return fail(refuse(link.path, "its target cannot be one"));
  }
  return {};
}

}  // namespace

mode_t mode_of(const TreeFile& file) {
  return file.mode.value_or(file.executable ? 0555 : 0444);
}

Result<void> normalise(Manifest& manifest) {
  if (manifest.directories.size() + manifest.files.size() +
          manifest.symlinks.size() >
      kMostTreeEntries) {
    return fail(refuse("", "the tree has too many entries"));
  }
  Paths paths;
  for (const std::string& path : manifest.directories) {
    TRY(paths.add(path, Kind::directory));
  }
  for (const TreeFile& file : manifest.files) {
    TRY(paths.add(file.path, Kind::leaf));
    TRY(check_file(file));
  }
  for (const TreeLink& link : manifest.symlinks) {
    TRY(paths.add(link.path, Kind::leaf));
    TRY(check_link(link));
  }
  std::unordered_set<std::string> parents;
  for (const std::string& path : manifest.directories) {
    TRY(paths.add_parents(path, parents));
  }
  for (const TreeFile& file : manifest.files) {
    TRY(paths.add_parents(file.path, parents));
  }
  for (const TreeLink& link : manifest.symlinks) {
    TRY(paths.add_parents(link.path, parents));
  }
  manifest.directories.insert(manifest.directories.end(), parents.begin(),
                              parents.end());
  auto by_path = [](const auto& a, const auto& b) { return a.path < b.path; };
  std::sort(manifest.directories.begin(), manifest.directories.end());
  std::sort(manifest.files.begin(), manifest.files.end(), by_path);
  std::sort(manifest.symlinks.begin(), manifest.symlinks.end(), by_path);
  return {};
}

Result<archive::Digest> digest_of(std::string_view bytes) {
  archive::Sha256 hash;
  hash.add(archive::bytes_of(bytes));
  return hash.finish();
}

}  // namespace lamina::cache
