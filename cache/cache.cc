// Opening, and entries: found, pinned, made.
#include "cache/cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "archive/bytes.h"
#include "base/kernel.h"
#include "cache/import.h"
#include "copy/remove_tree.h"
#include "copy/write_all.h"

namespace lamina::cache {

namespace {

constexpr const char* kTree = "tree";
constexpr const char* kManifest = "manifest.json";

Result<void> write_file(const Fd& dir, const char* name,
                        std::string_view bytes) {
  Kernel& kernel = real_kernel();
  Fd file(kernel.openat(dir.get(), name,
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        0600));
  if (!file.valid()) {
    return fail(last_error("openat", name));
  }
  auto written =
      copy::write_all(kernel, file.get(), archive::bytes_of(bytes), 0);
  if (!written) {
    written.error().subject = name;
    return written;
  }
  return file.close(kernel, name);
}

Result<uint64_t> inode_of(const Fd& fd) {
  struct stat stat {};
  if (real_kernel().fstat(fd.get(), &stat) != 0) {
    return fail(last_error("fstat", kTree));
  }
  return stat.st_ino;
}

// Takes an existing tree in; see Cache::add.
class ImportRecipe final : public Recipe {
 public:
  ImportRecipe(std::string id, Manifest manifest)
      : id_(std::move(id)),
        manifest_(std::move(manifest)) {}

  std::string_view id() const override { return id_; }
  Result<BuiltTree> make(const Fd& root, const Workshop& workshop) override {
    return build_tree(manifest_, *workshop.blobs, workshop.variants, root,
                      workshop.stop);
  }
  std::string manifest() const override { return manifest_json(manifest_); }

 private:
  std::string id_;
  Manifest manifest_;
};

}  // namespace

Cache::Cache(std::string root, CacheOptions options)
    : path_(std::move(root)),
      options_(std::move(options)) {}

Cache::~Cache() = default;

Result<void> Cache::open() {
  std::lock_guard lock(opening_);
  if (opened_) {
    return {};
  }
  TRY_ASSIGN(root_, open_root(path_));
  // Who is alone may sweep what everybody shares.
  TRY_ASSIGN(bool alone, root_.lock.try_take(Hold::alone, "lock"));
  if (!alone) {
    TRY(root_.lock.take(Hold::shared, "lock", options_.stop));
  }
  TRY_ASSIGN(std::string path, path_of(real_kernel(), root_.dir));
  TRY(index_.open(path + "/index.db", root_.shown + "/index.db"));
  if (alone) {
    TRY(sweep_variants());
    TRY(sweep_unknown());
    TRY(root_.lock.take(Hold::shared, "lock", options_.stop));
  }
  TRY(sweep_unfinished(root_.staging));
  TRY(sweep_unfinished(root_.trash));
  opened_ = true;
  return {};
}

// Blobs of the cache's own are dropped only by who holds this alone.
Result<FileLock> Cache::use_blobs(Hold hold) {
  TRY_ASSIGN(Fd dir, open_below(root_.blobs, "."));
  FileLock lock(std::move(dir));
  if (hold == Hold::shared) {
    TRY(lock.take(hold, "blobs", options_.stop));
    return lock;
  }
  TRY_ASSIGN(bool taken, lock.try_take(hold, "blobs"));
  return taken ? std::move(lock) : FileLock();
}

Result<NameLock> Cache::lock_key(std::string_view key) {
  TRY_ASSIGN(archive::Digest digest, digest_of(key));
  return NameLock::take(root_.locks, "k-" + hex_of(digest), options_.stop);
}

// The entry of a key, pinned; nullopt and the reason when there is none that
// can be used.
Result<std::optional<Cache::Held>> Cache::hold(std::string_view key,
                                               std::string_view recipe,
                                               std::string* why_not) {
  TRY_ASSIGN(std::optional<EntryRow> row, index_.find(key));
  if (!row) {
    *why_not = "the key was not there";
    return std::nullopt;
  }
  if (!recipe.empty() && row->recipe != recipe) {
    *why_not = "the key's tree was another";
    return std::nullopt;
  }
  TRY_ASSIGN(std::optional<Pin> pin,
             Pin::take(root_.entries, std::to_string(row->id), Hold::shared));
  if (!pin) {
    *why_not = "the entry was being removed";
    return std::nullopt;
  }
  Held out;
  out.row = std::move(*row);
  out.pin = std::move(*pin);
  auto tree = open_below(out.pin.dir(), kTree);
  if (tree) {
    // Inode numbers are part of what is known of an entry: one that somebody
    // copied or restored is not the one that was made.
    TRY_ASSIGN(uint64_t inode, inode_of(*tree));
    if (inode == out.row.tree_inode) {
      out.tree = std::move(*tree);
      return out;
    }
  }
  *why_not = "the entry was damaged";
  return std::nullopt;
}

Result<void> Cache::fill(const Pin& staged, Recipe& recipe, EntryRow* row,
                         BuiltTree* built) {
  Kernel& kernel = real_kernel();
  if (kernel.mkdirat(staged.dir().get(), kTree, 0700) != 0) {
    return fail(last_error("mkdirat", kTree));
  }
  TRY_ASSIGN(Fd tree, open_below(staged.dir(), kTree));
  TRY_ASSIGN(FileLock using_blobs, use_blobs(Hold::shared));
  TRY_ASSIGN(Fd blobs_dir, open_below(root_.blobs, "."));
  BlobDirectory blobs(std::move(blobs_dir));
  Variants variants(root_.variants, root_.locks, options_.stop);
  TRY_ASSIGN(*built, recipe.make(tree, {&blobs, &variants, options_.stop}));
  if (kernel.fchmod(tree.get(), 0755) != 0) {
    return fail(last_error("fchmod", kTree));
  }
  TRY(write_file(staged.dir(), kManifest, recipe.manifest()));
  // What the index says is whole must be so after a power cut.
  if (built->bytes_copied != 0 && kernel.syncfs(tree.get()) != 0) {
    return fail(last_error("syncfs", kTree));
  }
  TRY_ASSIGN(row->tree_inode, inode_of(tree));
  row->facts = built->facts;
  return {};
}

// Requires the key's lock. The entry is in the index when this returns, and
// pinned from before that on.
Result<Cache::Held> Cache::build(std::string_view key, Recipe& recipe,
                                 BuiltTree* built) {
  TRY_ASSIGN(std::optional<EntryRow> before, index_.find(key));
  EntryRow row;
  row.key = std::string(key);
  row.recipe = std::string(recipe.id());
  TRY_ASSIGN(row.id, index_.next_id());
  const std::string name = std::to_string(row.id);
  TRY_ASSIGN(Pin pin, Pin::make(root_.staging, name));
  auto made = fill(pin, recipe, &row, built);
  if (made) {
    made = index_.insert(row, [&]() -> Result<void> {
      if (real_kernel().renameat2(root_.staging.get(), name.c_str(),
                                  root_.entries.get(), name.c_str(), 0) != 0) {
        return fail(last_error("renameat", name));
      }
      return {};
    });
  }
  if (!made) {
    for (const Fd* where : {&root_.staging, &root_.entries}) {
      auto removed = copy::remove_tree(*where, name);
      if (!removed && removed.error().code != ENOENT) {
        made.error().text +=
            " (what was made stays: " + removed.error().message() + ")";
      }
    }
    return fail(std::move(made.error()));
  }
  if (before && throw_away(before->id)) {
    TRY(empty_trash(before->id));
  }
  Held out;
  out.row = std::move(row);
  TRY_ASSIGN(out.tree, open_below(pin.dir(), kTree));
  out.pin = std::move(pin);
  return out;
}

Result<Added> Cache::add(std::string_view key, const Fd& tree,
                         std::string_view shown) {
  TRY(open());
  TRY_ASSIGN(FileLock using_blobs, use_blobs(Hold::shared));
  Added out;
  Manifest manifest;
  {
    TRY_ASSIGN(int64_t id, index_.next_id());
    const std::string name = std::to_string(id);
    TRY_ASSIGN(Pin scratch, Pin::make(root_.staging, name));
    BlobStore store(root_.blobs, scratch.dir());
    auto imported = import_tree(tree, shown, store, options_.stop);
    auto removed = copy::remove_tree(root_.staging, name);
    if (!imported) {
      return fail(std::move(imported.error()));
    }
    TRY(removed);
    manifest = std::move(*imported);
    out.blobs = store.added();
    out.bytes_added = store.bytes_added();
  }
  if (out.blobs != 0 && real_kernel().syncfs(root_.blobs.get()) != 0) {
    return fail(last_error("syncfs", root_.shown));
  }
  out.manifest = manifest_json(manifest);
  TRY_ASSIGN(archive::Digest digest, digest_of(out.manifest));
  out.recipe = digest.text();
  TRY_ASSIGN(NameLock lock, lock_key(key));
  std::string why_not;
  TRY_ASSIGN(std::optional<Held> held, hold(key, out.recipe, &why_not));
  out.present = held.has_value();
  if (!held) {
    ImportRecipe recipe(out.recipe, std::move(manifest));
    BuiltTree built;
    TRY_ASSIGN(held, build(key, recipe, &built));
  }
  out.bytes = held->row.facts.bytes;
  out.files = held->row.facts.files;
  using_blobs.release();
  TRY(hold_limits());
  return out;
}

Result<Contents> Cache::list() {
  TRY(open());
  Contents out;
  TRY_ASSIGN(out.entries, index_.list());
  TRY_ASSIGN(out.counts, index_.counts());
  for (const EntryRow& row : out.entries) {
    TRY_ASSIGN(std::optional<Pin> pin,
               Pin::take(root_.entries, std::to_string(row.id), Hold::alone));
    out.in_use.push_back(!pin);
  }
  return out;
}

}  // namespace lamina::cache
