// What goes: entries that are not needed, and what a crash left.
//
// An entry goes in three steps: nobody can find it (index), nobody can open it
// (renamed to the trash, under a lock that no pin allows), and then it is
// deleted, with no lock held.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "cache/cache.h"
#include "cache/read.h"
#include "copy/remove_tree.h"

namespace lamina::cache {

namespace {

Result<std::vector<std::string>> names_in(const Fd& dir,
                                          std::string_view subject) {
  TRY_ASSIGN(Fd own, open_below(dir, "."));
  return read_names(own, subject);
}

// The entries of the index as names, sorted.
Result<std::vector<std::string>> known_names(Index& index) {
  TRY_ASSIGN(std::vector<int64_t> ids, index.ids());
  std::vector<std::string> out;
  out.reserve(ids.size());
  for (int64_t id : ids) {
    out.push_back(std::to_string(id));
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Others may be removing the same tree.
Result<void> remove_if_there(const Fd& parent, const std::string& name) {
  auto removed = copy::remove_tree(parent, name);
  if (!removed && removed.error().code != ENOENT) {
    return fail(std::move(removed.error()));
  }
  return {};
}

}  // namespace

// Moves an entry to the trash; false when somebody holds it. One that is
// missing can go, too.
bool Cache::throw_away(int64_t id) {
  const std::string name = std::to_string(id);
  auto pin = Pin::take(root_.entries, name, Hold::alone);
  if (!pin) {
    return false;
  }
  if (!*pin) {
    struct stat stat {};
    return real_kernel().fstatat(root_.entries.get(), name.c_str(), &stat,
                                 AT_SYMLINK_NOFOLLOW) != 0 &&
           errno == ENOENT;
  }
  return real_kernel().renameat2(root_.entries.get(), name.c_str(),
                                 root_.trash.get(), name.c_str(), 0) == 0;
}

Result<void> Cache::empty_trash(int64_t id) {
  return remove_if_there(root_.trash, std::to_string(id));
}

Result<Evicted> Cache::trim(const Limits& limits) {
  Evicted out;
  TRY_ASSIGN(std::vector<int64_t> gone, index_.trim(
                                            limits,
                                            [&](int64_t id) {
                                              bool taken = throw_away(id);
                                              out.in_use += taken ? 0 : 1;
                                              return taken;
                                            },
                                            &out.bytes));
  out.entries = gone.size();
  for (int64_t id : gone) {
    TRY(empty_trash(id));
  }
  if (!gone.empty()) {
    TRY_ASSIGN(out.blobs, drop_blobs());
  }
  return out;
}

Result<void> Cache::hold_limits() {
  Limits limits = options_.limits;
  limits.unused_since_ns.reset();
  if (limits.bytes || limits.entries) {
    TRY(trim(limits));
  }
  return {};
}

Result<Evicted> Cache::evict(const Limits& limits) {
  TRY(open());
  TRY_ASSIGN(Evicted out, trim(limits));
  if (out.entries == 0) {
    TRY_ASSIGN(out.blobs, drop_blobs());
  }
  TRY(sweep_unknown());
  return out;
}

Result<Evicted> Cache::evict(std::string_view key) {
  TRY(open());
  Evicted out;
  TRY_ASSIGN(std::optional<EntryRow> row, index_.find(key));
  int64_t gone = 0;
  bool asked = false;
  TRY_ASSIGN(bool removed, index_.remove(key, [&](int64_t id) {
    asked = true;
    gone = id;
    return throw_away(id);
  }));
  if (!removed) {
    return fail(asked ? make_error(EBUSY, "evict", key, "it is in use")
                      : make_error(ENOENT, "evict", key,
                                   "there is no entry with this key"));
  }
  TRY(empty_trash(gone));
  out.entries = 1;
  out.bytes = row ? row->facts.bytes : 0;
  TRY_ASSIGN(out.blobs, drop_blobs());
  return out;
}

// Blobs of the cache's own that have no other name: no entry has them, and no
// tree that was handed out.
Result<uint64_t> Cache::drop_blobs() {
  TRY_ASSIGN(FileLock alone, use_blobs(Hold::alone));
  if (!alone.valid()) {
    return uint64_t{0};  // Somebody may be about to link one. Next time.
  }
  uint64_t dropped = 0;
  TRY_ASSIGN(std::vector<std::string> names, names_in(root_.blobs, "blobs"));
  for (const std::string& name : names) {
    struct stat stat {};
    Kernel& kernel = real_kernel();
    if (kernel.fstatat(root_.blobs.get(), name.c_str(), &stat,
                       AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(last_error("fstatat", name));
    }
    if (stat.st_nlink > 1) {
      continue;
    }
    if (kernel.unlinkat(root_.blobs.get(), name.c_str(), 0) != 0) {
      return fail(last_error("unlinkat", name));
    }
    ++dropped;
  }
  return dropped;
}

// Who makes or deletes something holds a lock on it, or is dead.
Result<void> Cache::sweep_unfinished(const Fd& dir) {
  TRY_ASSIGN(std::vector<std::string> names, names_in(dir, root_.shown));
  for (const std::string& name : names) {
    TRY_ASSIGN(std::optional<Pin> pin, Pin::take(dir, name, Hold::alone));
    if (pin) {
      TRY(remove_if_there(dir, name));
    }
  }
  return {};
}

// Entries that the index does not know: replaced while they were in use, or
// made by somebody who died before the index had them.
Result<void> Cache::sweep_unknown() {
  TRY_ASSIGN(std::vector<std::string> names,
             names_in(root_.entries, root_.shown));
  TRY_ASSIGN(std::vector<std::string> known, known_names(index_));
  for (const std::string& name : names) {
    if (std::binary_search(known.begin(), known.end(), name)) {
      continue;
    }
    // One that is being added is pinned until the index has it, so it may have
    // come in since the index was asked.
    TRY_ASSIGN(std::optional<Pin> pin,
               Pin::take(root_.entries, name, Hold::alone));
    if (pin) {
      TRY_ASSIGN(known, known_names(index_));
      if (!std::binary_search(known.begin(), known.end(), name)) {
        TRY(remove_if_there(root_.entries, name));
      }
    }
  }
  return {};
}

// Requires that nobody else has the cache open.
Result<void> Cache::sweep_variants() {
  TRY_ASSIGN(std::vector<std::string> names,
             names_in(root_.variants, root_.shown));
  for (const std::string& name : names) {
    if (real_kernel().unlinkat(root_.variants.get(), name.c_str(), 0) != 0 &&
        errno != ENOENT) {
      return fail(last_error("unlinkat", name));
    }
  }
  return {};
}

}  // namespace lamina::cache
