#include "copy/probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/dir_reader.h"
#include "base/kernel.h"
#include "copy/remove_tree.h"

namespace lamina::copy {

namespace {

constexpr int kCreateFlags =
    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
constexpr size_t kBlock = 4096;

// user::rw-, user:1:r--, group::r--, mask::r--, other::r--, in the form that
// acl(5) has as an attribute: version 2, then tag, permissions and id each.
constexpr std::array<unsigned char, 44> kAcl = {
    2,  0, 0, 0,                       // version
    1,  0, 6, 0, 255, 255, 255, 255,   // the owner
    2,  0, 4, 0, 1,   0,   0,   0,     // user 1
    4,  0, 4, 0, 255, 255, 255, 255,   // the group
    16, 0, 4, 0, 255, 255, 255, 255,   // the mask
    32, 0, 4, 0, 255, 255, 255, 255};  // the others

// "" when it worked, else why it did not.
using Answer = std::string;

Answer refusal() {
  const char* name = strerrorname_np(errno);
  const char* text = strerrordesc_np(errno);
  return std::string(text != nullptr ? text : "refused") + " (" +
         (name != nullptr ? name : "?") + ")";
}

Answer answer(int done) {
  return done < 0 ? refusal() : "";
}

// The attempts, in a directory that is empty at first and not cleaned by them.
class Attempts {
 public:
  Attempts(Kernel& kernel, const Fd& dir)
      : kernel_(kernel),
        dir_(dir.get()) {}

  // A file with a block of data and a hole behind it, for those below.
  Result<void> prepare() {
    file_.reset(kernel_.openat(dir_, "file", kCreateFlags, 0600));
    if (!file_.valid()) {
      return fail(last_error("openat", ""));
    }
    const std::array<char, kBlock> block = {'x'};
    ssize_t n = kernel_.pwrite(file_.get(), block.data(), block.size(), 0);
    if (n != static_cast<ssize_t>(block.size())) {
      return fail(n < 0 ? last_error("pwrite", "")
                        : make_error(ENOSPC, "pwrite", ""));
    }
    return {};
  }

  Answer reflink() {
    Fd clone(kernel_.openat(dir_, "clone", kCreateFlags, 0600));
    if (!clone.valid()) {
      return refusal();
    }
    return answer(kernel_.ficlone(clone.get(), file_.get()));
  }

  Answer hard_link() {
    return answer(kernel_.linkat(dir_, "file", dir_, "link"));
  }

  Answer symlink() {
    return answer(kernel_.symlinkat("nowhere", dir_, "symlink"));
  }

  Answer holes() {
    constexpr off_t kFar = off_t{1024} * 1024;
    Fd sparse(kernel_.openat(dir_, "sparse", kCreateFlags, 0600));
    if (!sparse.valid() || kernel_.pwrite(sparse.get(), "x", 1, kFar) != 1) {
      return refusal();
    }
    off_t hole = kernel_.lseek(sparse.get(), 0, SEEK_HOLE);
    if (hole < 0) {
      return refusal();
    }
    return hole < kFar ? "" : "they are filled, or not told";
  }

  Answer xattr(const char* name, const void* value, size_t size) {
    return answer(kernel_.fsetxattr(file_.get(), name, value, size));
  }

  Answer user_xattr() { return xattr("user.lamina.probe", "x", 1); }
  Answer trusted_xattr() { return xattr("trusted.lamina.probe", "x", 1); }
  Answer acl() {
    return xattr("system.posix_acl_access", kAcl.data(), kAcl.size());
  }
  Answer capability() {
    vfs_cap_data data{};
    data.magic_etc = VFS_CAP_REVISION_2;
    data.data[0].permitted = 1U << CAP_NET_BIND_SERVICE;
    return xattr("security.capability", &data, sizeof data);
  }

  Answer owner() {
    Fd other(kernel_.openat(dir_, "owner", kCreateFlags, 0600));
    if (!other.valid()) {
      return refusal();
    }
    return answer(kernel_.fchown(other.get(), 1, 1));
  }

  Answer node(const char* name, mode_t kind, dev_t device) {
    return answer(kernel_.mknodat(dir_, name, kind | 0600, device));
  }
  Answer fifo() { return node("fifo", S_IFIFO, 0); }
  Answer socket() { return node("socket", S_IFSOCK, 0); }
  Answer device() { return node("device", S_IFCHR, makedev(1, 3)); }
  Answer whiteout() { return node("whiteout", S_IFCHR, makedev(0, 0)); }

  Answer exact_times() {
    const timespec wanted[2] = {{-2, 123456789}, {-2, 123456789}};
    struct stat stat {};
    if (kernel_.futimens(file_.get(), wanted) != 0 ||
        kernel_.fstat(file_.get(), &stat) != 0) {
      return refusal();
    }
    return stat.st_mtim.tv_sec == -2 && stat.st_mtim.tv_nsec == 123456789
               ? ""
               : "they are rounded or cut off";
  }

  Answer d_type() {
    Listing listing;
    auto filled = listing.fill(kernel_, dir_, "");
    DirEntry entry;
    if (!filled) {
      return filled.error().message();
    }
    while (listing.next(&entry)) {
      if (entry.type == DT_UNKNOWN) {
        return "listings do not tell, so each entry is asked";
      }
    }
    return "";
  }

  Answer case_folding() {
    struct stat stat {};
    return answer(kernel_.fstatat(dir_, "FILE", &stat, AT_SYMLINK_NOFOLLOW));
  }

 private:
  Kernel& kernel_;
  int dir_;
  Fd file_;
};

struct Question {
  std::string_view name;
  std::string_view about;
  Answer (Attempts::*ask)();
};

constexpr std::array<Question, 16> kQuestions = {{
    {"reflink", "reflinks", &Attempts::reflink},
    {"hard_links", "hard links", &Attempts::hard_link},
    {"symlinks", "symbolic links", &Attempts::symlink},
    {"holes", "holes in files", &Attempts::holes},
    {"user_xattrs", "attributes user.*", &Attempts::user_xattr},
    {"trusted_xattrs", "attributes trusted.*", &Attempts::trusted_xattr},
    {"capabilities", "file capabilities", &Attempts::capability},
    {"acls", "access control lists", &Attempts::acl},
    {"owners", "other owners", &Attempts::owner},
    {"fifos", "fifos", &Attempts::fifo},
    {"sockets", "sockets", &Attempts::socket},
    {"devices", "devices", &Attempts::device},
    {"whiteouts", "overlay whiteouts", &Attempts::whiteout},
    {"exact_times", "times to 1 ns, before 1970", &Attempts::exact_times},
    {"d_type", "listings tell types", &Attempts::d_type},
    {"case_folding", "names fold case", &Attempts::case_folding},
}};

std::string random_name() {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
  std::random_device random;
  std::string out = ".lamina-probe-";
  for (int i = 0; i < 12; ++i) {
    out += kLetters[random() % kLetters.size()];
  }
  return out;
}

Result<Fd> make_place(Kernel& kernel, const Fd& dir, std::string_view shown,
                      const std::string& name) {
  if (kernel.mkdirat(dir.get(), name.c_str(), 0700) != 0) {
    return fail(last_error("mkdir", shown));
  }
  Fd place(kernel.openat(dir.get(), name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0));
  if (!place.valid()) {
    Error error = last_error("openat", shown);
    [[maybe_unused]] int ignored =
        kernel.unlinkat(dir.get(), name.c_str(), AT_REMOVEDIR);
    return fail(std::move(error));
  }
  return place;
}

Result<void> ask_all(Kernel& kernel, const Fd& place, ProbeReport& report) {
  Attempts attempts(kernel, place);
  TRY(attempts.prepare());
  for (const Question& question : kQuestions) {
    Answer why = (attempts.*question.ask)();
    Can can = why.empty() ? Can::yes : Can::no;
    // Nothing was refused where a name was just not found.
    if (question.name == "case_folding") {
      why.clear();
    }
    report.findings.push_back(
        {question.name, question.about, can, std::move(why)});
  }
  return {};
}

Result<void> fill_space(Kernel& kernel, const Fd& dir, std::string_view shown,
                        ProbeReport& report) {
  struct statfs info {};
  if (kernel.fstatfs(dir.get(), &info) != 0) {
    return fail(last_error("fstatfs", shown));
  }
  auto block = static_cast<uint64_t>(info.f_bsize);
  report.kind = fs_kind_from_magic(static_cast<unsigned long>(info.f_type));
  report.bytes_free = info.f_bavail * block;
  report.bytes_total = info.f_blocks * block;
  report.inodes_free = info.f_ffree;
  report.inodes_total = info.f_files;
  return {};
}

}  // namespace

bool ProbeReport::can(std::string_view name) const {
  for (const Finding& finding : findings) {
    if (finding.name == name) {
      return finding.can == Can::yes;
    }
  }
  return false;
}

Result<ProbeReport> probe(const Fd& dir, std::string_view shown, Kernel* seam) {
  Kernel& kernel = seam != nullptr ? *seam : real_kernel();
  ProbeReport report;
  TRY(fill_space(kernel, dir, shown, report));
  const std::string name = random_name();
  TRY_ASSIGN(Fd place, make_place(kernel, dir, shown, name));
  auto asked = ask_all(kernel, place, report);
  place.reset();
  auto removed = remove_tree(dir, name);
  if (!asked || !removed) {
    Error error =
        !asked ? std::move(asked.error()) : std::move(removed.error());
    error.subject = std::string(shown) + "/" + name;
    return fail(std::move(error));
  }
  report.best = report.can("reflink")      ? Sharing::reflink
                : report.can("hard_links") ? Sharing::hardlink
                                           : Sharing::content;
  return report;
}

}  // namespace lamina::copy
