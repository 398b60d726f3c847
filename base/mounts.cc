#include "base/mounts.h"

#include <libmount/libmount.h>

#include <cerrno>
#include <memory>

namespace lamina {

namespace {

struct TableDeleter {
  void operator()(libmnt_table* table) const { mnt_unref_table(table); }
};
struct IteratorDeleter {
  void operator()(libmnt_iter* iterator) const { mnt_free_iter(iterator); }
};

std::string text(const char* s) {
  return s == nullptr ? "" : s;
}

bool is_below(std::string_view target, std::string_view path) {
  if (path == "/") {
    return target.size() > 1 && target[0] == '/';
  }
  return target.size() > path.size() && target.substr(0, path.size()) == path &&
         target[path.size()] == '/';
}

}  // namespace

Result<std::vector<Mount>> mounts_below(std::string_view path) {
  constexpr const char* kTable = "/proc/self/mountinfo";
  std::unique_ptr<libmnt_table, TableDeleter> table(mnt_new_table());
  std::unique_ptr<libmnt_iter, IteratorDeleter> iterator(
      mnt_new_iter(MNT_ITER_FORWARD));
  if (!table || !iterator) {
    return fail(make_error(ENOMEM, "read mount table", kTable));
  }
  if (int failed = mnt_table_parse_file(table.get(), kTable); failed != 0) {
    return fail(
        make_error(failed < 0 ? -failed : EINVAL, "read mount table", kTable));
  }
  std::vector<Mount> found;
  libmnt_fs* fs = nullptr;
  while (mnt_table_next_fs(table.get(), iterator.get(), &fs) == 0) {
    std::string target = text(mnt_fs_get_target(fs));
    if (is_below(target, path)) {
      found.push_back({target, text(mnt_fs_get_root(fs)),
                       text(mnt_fs_get_fstype(fs)), mnt_fs_get_id(fs)});
    }
  }
  return found;
}

}  // namespace lamina
