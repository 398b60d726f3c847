#include "base/mounts.h"

#include <fcntl.h>
#include <libmount/libmount.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/fd.h"

namespace lamina {

namespace {

struct TableDeleter {
  void operator()(libmnt_table* table) const { mnt_unref_table(table); }
};
struct IteratorDeleter {
  void operator()(libmnt_iter* iterator) const { mnt_free_iter(iterator); }
};

struct FileCloser {
  void operator()(FILE* file) const { std::fclose(file); }
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

// `path` without the leading `target`; both absolute.
std::string_view rest_below(std::string_view path, std::string_view target) {
  return target == "/" ? path : path.substr(target.size());
}

std::string joined(std::string_view directory, std::string_view rest) {
  std::string path(directory == "/" ? "" : directory);
  path += rest == "/" ? "" : rest;
  return path.empty() ? "/" : path;
}

constexpr const char* kTable = "/proc/self/mountinfo";

// Read by ourselves: libmount takes a table that cannot be read to its end for
// a malformed one.
Result<std::string> table_text() {
  constexpr size_t kStep = size_t{64} << 10U;
  Fd fd(::open(kTable, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return fail(last_error("read mount table", kTable));
  }
  std::string text;
  for (;;) {
    size_t have = text.size();
    text.resize(have + kStep);
    ssize_t n = ::read(fd.get(), text.data() + have, kStep);
    if (n < 0 && errno != EINTR) {
      return fail(last_error("read mount table", kTable));
    }
    text.resize(have + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n == 0) {
      return text;
    }
  }
}

class Table {
 public:
  static Result<Table> read() {
    TRY_ASSIGN(std::string text, table_text());
    Table table;
    table.table_.reset(mnt_new_table());
    std::unique_ptr<FILE, FileCloser> stream(
        ::fmemopen(text.data(), text.size(), "r"));
    if (!table.table_ || !stream) {
      return fail(make_error(ENOMEM, "read mount table", kTable));
    }
    int failed =
        mnt_table_parse_stream(table.table_.get(), stream.get(), kTable);
    if (failed != 0) {
      return fail(make_error(failed < 0 ? -failed : EINVAL, "read mount table",
                             kTable));
    }
    return table;
  }

  template <typename Visit>
  Result<void> each(Visit visit) {
    std::unique_ptr<libmnt_iter, IteratorDeleter> iterator(
        mnt_new_iter(MNT_ITER_FORWARD));
    if (!iterator) {
      return fail(make_error(ENOMEM, "read mount table", ""));
    }
    libmnt_fs* fs = nullptr;
    while (mnt_table_next_fs(table_.get(), iterator.get(), &fs) == 0) {
      visit(fs);
    }
    return {};
  }

  // The mount that `path` lies on, the last of several at one place; nullptr
  // where the table has none.
  libmnt_fs* holder_of(const std::string& path) {
    return mnt_table_find_mountpoint(table_.get(), path.c_str(),
                                     MNT_ITER_BACKWARD);
  }

 private:
  std::unique_ptr<libmnt_table, TableDeleter> table_;
};

}  // namespace

Result<std::vector<Mount>> mounts_below(std::string_view path) {
  TRY_ASSIGN(Table table, Table::read());
  std::vector<Mount> found;
  TRY(table.each([&](libmnt_fs* fs) {
    std::string target = text(mnt_fs_get_target(fs));
    if (is_below(target, path)) {
      found.push_back({target, text(mnt_fs_get_root(fs)),
                       text(mnt_fs_get_fstype(fs)), mnt_fs_get_id(fs)});
    }
  }));
  return found;
}

Result<bool> walk_reaches(std::string_view outer, std::string_view inner) {
  TRY_ASSIGN(Table table, Table::read());
  auto place_of = [&](std::string_view path) {
    libmnt_fs* fs = table.holder_of(std::string(path));
    std::string place;
    if (fs != nullptr) {
      place = joined(text(mnt_fs_get_root(fs)),
                     rest_below(path, text(mnt_fs_get_target(fs))));
    }
    return std::pair(fs == nullptr ? dev_t{} : mnt_fs_get_devno(fs), place);
  };
  auto [device, place] = place_of(inner);
  auto holds = [&, at = std::string_view(place), on = device](
                   dev_t other, std::string_view root) {
    return other == on && !at.empty() &&
           (at == root || is_below(at, root) || root == "/");
  };
  auto [outer_device, outer_place] = place_of(outer);
  bool reached = holds(outer_device, outer_place);
  TRY(table.each([&](libmnt_fs* fs) {
    reached =
        reached || (is_below(text(mnt_fs_get_target(fs)), outer) &&
                    holds(mnt_fs_get_devno(fs), text(mnt_fs_get_root(fs))));
  }));
  return reached;
}

}  // namespace lamina
