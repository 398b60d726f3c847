// Regular files: opened, created, filled in steps, finished, closed.
#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "copy/copy_visitor.h"

namespace lamina::copy {

namespace {

constexpr int kCreateFlags =
    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;

Error replaced(std::string_view by_what) {
  return make_error(
      ESTALE, "openat", "",
      "it was replaced by " + std::string(by_what) + " while it was copied");
}

}  // namespace

// Opens the source and makes sure that it is the file that was listed, or that
// `stat` was asked of.
Result<void> CopyVisitor::open_regular(const Entry& entry,
                                       const struct stat* stat) {
  auto source = open_source(entry.source, entry.name(), 0);
  if (!source) {
    int code = source.error().code;
    if (code == ELOOP) {
      return fail(replaced("a symbolic link"));
    }
    if (code == ENXIO) {
      return fail(replaced("a socket or device"));
    }
    return fail(std::move(source.error()));
  }
  file_.source = std::move(*source);
  if (kernel_.fstat(file_.source.get(), &file_.stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  if (!S_ISREG(file_.stat.st_mode)) {
    return fail(replaced("something that is not a regular file"));
  }
  bool other = stat != nullptr ? file_.stat.st_ino != stat->st_ino ||
                                     file_.stat.st_dev != stat->st_dev
                               : listing_tells(entry) &&
                                     file_.stat.st_ino != entry.listed.inode;
  if (other) {
    return fail(replaced("another file"));
  }
  return note_newcomer(entry, file_.stat);
}

Result<Visit> CopyVisitor::copy_regular(const Entry& entry,
                                        const struct stat* stat) {
  auto copied = begin_regular(entry, stat);
  if (!copied) {
    drop_regular(entry);
  }
  return copied;
}

// `stat` is what fstatat said of the entry, where that was asked.
Result<Visit> CopyVisitor::begin_regular(const Entry& entry,
                                         const struct stat* stat) {
  TRY(open_regular(entry, stat));
  if (!file_.claimed && file_.stat.st_nlink > 1 &&
      state_.options.hard_links == HardLinks::recreated) {
    InodeKey key{file_.stat.st_dev, file_.stat.st_ino};
    if (auto place = state_.links.claim(key, file_.stat.st_nlink)) {
      struct stat known = file_.stat;
      file_ = OpenFile();
      return link_further(entry, key, std::move(*place), &known);
    }
    file_.claimed = key;
  }
  TRY(create_regular(entry));
  return move_regular();
}

Result<void> CopyVisitor::create_regular(const Entry& entry) {
  file_.abilities = entry.dir.abilities;
  if (file_.stat.st_dev != entry.dir.stat.st_dev) {
    TRY_ASSIGN(file_.abilities,
               state_.abilities_for(file_.stat.st_dev, file_.source));
  }
  TRY_ASSIGN(file_.wanted, metadata_.wanted(file_.stat));
  mode_t mode = metadata_.birth_mode(file_.wanted, 0);
  file_.target.reset(
      kernel_.openat(entry.target, entry.name(), kCreateFlags, mode));
  if (!file_.target.valid()) {
    return fail(last_error("openat", ""));
  }
  file_.created = true;
  file_.born_mode = born(mode);
  if (file_.claimed) {
    // Further names may be linked from now on: they share all that follows.
    TRY(publish(entry, *file_.claimed));
    file_.published = std::exchange(file_.claimed, std::nullopt);
  }
  file_.data.begin(kernel_,
                   {file_.source.get(), file_.target.get(), file_.stat},
                   *file_.abilities, state_.options.sharing, buffer_);
  return {};
}

Result<Visit> CopyVisitor::resume(const Entry& entry) {
  Result<Visit> moved = turn_error_ ? fail(*turn_error_) : move_regular();
  if (!moved) {
    drop_regular(entry);
  }
  return moved;
}

Result<Visit> CopyVisitor::move_regular() {
  TRY_ASSIGN(bool all, file_.data.step());
  if (!all) {
    return Visit::again;
  }
  TRY(finish_regular());
  return Visit::done;
}

Result<void> CopyVisitor::finish_regular() {
  TRY(finish({file_.source.get(), nullptr},
             {{file_.target.get(), nullptr}, S_IFREG, file_.born_mode},
             file_.wanted, *file_.abilities));
  TRY(file_.target.close(kernel_, ""));
  count_regular();
  file_.source.reset();
  return {};
}

void CopyVisitor::count_regular() {
  switch (file_.data.moved()) {
    case Moved::nothing:
      count(&Tally::empty_files);
      break;
    case Moved::cloned:
      count(&Tally::reflinked);
      break;
    case Moved::by_range:
      count(&Tally::copied_by_range);
      break;
    case Moved::by_read_write:
      count(&Tally::copied_by_read_write);
      break;
  }
  tally_.bytes_logical += static_cast<uint64_t>(file_.stat.st_size);
  tally_.bytes_written += file_.data.bytes_written();
}

// Takes back a file that could not be finished: no half file is ever left. The
// error that led here is the one to report, so a failure to unlink is not.
void CopyVisitor::drop_regular(const Entry& entry) {
  // Names still to come try for themselves, so that the error told is that of
  // the first name and not of the one that was met first.
  for (const auto& key : {file_.claimed, file_.published}) {
    if (key) {
      state_.links.abandon(*key);
    }
  }
  if (file_.created) {
    [[maybe_unused]] int ignored =
        kernel_.unlinkat(entry.target, entry.name(), 0);
  }
  file_ = OpenFile();
}

}  // namespace lamina::copy
