#include "tests/support/mounts.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/program.h"

namespace lamina::test {
namespace {

// Why this process has no mounts of its own, "" when it has.
std::string& namespace_fault() {
  static std::string fault = "the test environment was not set up";
  return fault;
}

std::string enter_namespace() {
  const char* given = std::getenv("LAMINA_MOUNTS");
  if (given != nullptr && std::string_view(given) == "private")
    return "";
  try {
    if (::unshare(CLONE_NEWNS) != 0)
      throw_errno("unshare", "mounts");
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      throw_errno("mount", "/");
    }
  } catch (const SupportError& error) {
    return error.what();
  }
  return "";
}

// Threads made before unshare(2) would stay outside, so it comes first of all.
class MountNamespace : public testing::Environment {
 public:
  void SetUp() override { namespace_fault() = enter_namespace(); }
};

const testing::Environment* const kEnvironment =
    testing::AddGlobalTestEnvironment(new MountNamespace);

std::string image_directory() {
  struct statvfs room {};
  constexpr std::uint64_t kEnough = std::uint64_t{512} << 20U;
  if (::statvfs("/dev/shm", &room) == 0 &&
      room.f_bavail * room.f_frsize >= kEnough &&
      ::access("/dev/shm", W_OK) == 0) {
    return "/dev/shm";
  }
  return "";
}

void check_run(const std::vector<std::string>& arguments) {
  const Ran ran = run_program(arguments);
  if (ran.status != 0) {
    throw SupportError(arguments[0] + ": " +
                       ran.err.substr(0, ran.err.find('\n')));
  }
}

std::vector<std::string> mkfs_arguments(FileSystem kind,
                                        const MountOptions& options) {
  switch (kind) {
    case FileSystem::ext4: {
      // No blocks kept for root, or root's disk would never be full.
      std::vector<std::string> arguments = {"mkfs.ext4", "-q", "-F", "-m",
                                            "0",         "-I", "256"};
      if (options.inodes > 0) {
        arguments.insert(arguments.end(),
                         {"-N", std::to_string(options.inodes)});
      }
      return arguments;
    }
    case FileSystem::xfs:
      return {"mkfs.xfs", "-q", "-f", "-m", "reflink=1"};
    case FileSystem::btrfs:
      return {"mkfs.btrfs", "-q", "-f"};
    case FileSystem::tmpfs:
    case FileSystem::overlay:
      break;
  }
  throw SupportError("no image for " + to_string(kind));
}

std::string find_reason(FileSystem kind) {
  if (::geteuid() != 0)
    return "mounting needs root";
  if (!namespace_fault().empty())
    return namespace_fault();
  const bool image = kind == FileSystem::ext4 || kind == FileSystem::xfs ||
                     kind == FileSystem::btrfs;
  if (image && !has_program("mkfs." + to_string(kind))) {
    return "mkfs." + to_string(kind) + " is not installed";
  }
  try {
    const Mount mount(kind);
  } catch (const SupportError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

std::string to_string(FileSystem kind) {
  switch (kind) {
    case FileSystem::ext4:
      return "ext4";
    case FileSystem::xfs:
      return "xfs";
    case FileSystem::btrfs:
      return "btrfs";
    case FileSystem::tmpfs:
      return "tmpfs";
    case FileSystem::overlay:
      return "overlay";
  }
  return "unknown";
}

const std::string& why_not(FileSystem kind) {
  static std::map<FileSystem, std::string> reasons;
  const auto it = reasons.find(kind);
  if (it != reasons.end())
    return it->second;
  return reasons[kind] = find_reason(kind);
}

Mount::Mount(FileSystem kind, const MountOptions& options)
    : kind_(kind),
      point_(place_.path("mount")) {
  if (!namespace_fault().empty())
    throw SupportError(namespace_fault());
  if (::mkdir(point_.c_str(), 0755) != 0)
    throw_errno("mkdir", point_);
  if (kind == FileSystem::tmpfs) {
    mount_memory(point_, options);
  } else if (kind == FileSystem::overlay) {
    mount_overlay(options);
  } else {
    mount_image(options);
  }
  root_ = point_ + "/root";
  if (::mkdir(root_.c_str(), 0755) != 0 || ::chmod(root_.c_str(), 0755) != 0) {
    throw_errno("mkdir", root_);
  }
  // An ordinary user may come this far too.
  if (::chmod(place_.path().c_str(), 0755) != 0)
    throw_errno("chmod", "");
}

Mount::~Mount() {
  // A worker may be about to close its last descriptor.
  for (int tries = 0; ::umount2(point_.c_str(), UMOUNT_NOFOLLOW) != 0;
       ++tries) {
    if (errno == EBUSY && tries < 20) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    std::fprintf(stderr, "Mount: %s is busy; detached\n", point_.c_str());
    ::umount2(point_.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH);
    break;
  }
}

void Mount::mount_image(const MountOptions& options) {
  const TempDir temp(image_directory());
  const std::string image = temp.path("image");
  {
    const Descriptor fd(
        ::open(image.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid())
      throw_errno("open", image);
    if (::ftruncate(fd.get(), static_cast<off_t>(options.bytes)) != 0) {
      throw_errno("ftruncate", image);
    }
  }
  std::vector<std::string> mkfs = mkfs_arguments(kind_, options);
  mkfs.push_back(image);
  check_run(mkfs);
  std::string words = "loop";
  if (!options.options.empty())
    words += "," + options.options;
  check_run({"mount", "-t", to_string(kind_), "-o", words, image, point_});
}

void Mount::mount_memory(const std::string& where,
                         const MountOptions& options) {
  std::string words = "mode=0755,size=" + std::to_string(options.bytes);
  if (options.inodes > 0) {
    words += ",nr_inodes=" + std::to_string(options.inodes);
  }
  if (kind_ == FileSystem::tmpfs && !options.options.empty()) {
    words += "," + options.options;
  }
  if (::mount("tmpfs", where.c_str(), "tmpfs", 0, words.c_str()) != 0) {
    throw_errno("mount tmpfs", where);
  }
}

void Mount::mount_overlay(const MountOptions& options) {
  const std::string base = place_.path("layers");
  if (::mkdir(base.c_str(), 0755) != 0)
    throw_errno("mkdir", base);
  mount_memory(base, options);
  for (const char* name : {"/lower", "/upper", "/work"}) {
    const std::string path = base + name;
    if (::mkdir(path.c_str(), 0755) != 0)
      throw_errno("mkdir", path);
  }
  std::string words = "lowerdir=" + base + "/lower,upperdir=" + base +
                      "/upper,workdir=" + base + "/work";
  if (!options.options.empty())
    words += "," + options.options;
  if (::mount("overlay", point_.c_str(), "overlay", 0, words.c_str()) != 0) {
    throw_errno("mount overlay", point_);
  }
}

void Mount::leave_free(std::uint64_t bytes) {
  const std::string path = point_ + "/ballast";
  const Descriptor fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid())
    throw_errno("open", path);
  // Allocating takes space for itself too, and overlay cannot say beforehand
  // what is free, so by halves and from the top.
  struct stat st {};
  struct statvfs room {};
  std::uint64_t step = std::uint64_t{1} << 40U;
  while (step >= 4096) {
    if (::fstat(fd.get(), &st) != 0)
      throw_errno("fstat", path);
    if (::fstatvfs(fd.get(), &room) != 0)
      throw_errno("fstatvfs", path);
    const std::uint64_t free = room.f_bavail * room.f_frsize;
    const bool fits = free >= bytes && free - bytes >= step;
    if (!fits || ::posix_fallocate(fd.get(), st.st_size,
                                   static_cast<off_t>(step)) != 0) {
      step /= 2;
    }
  }
}

void Mount::set_read_only() {
  check_run({"mount", "-o", "remount,ro", point_});
}

void Mount::set_writable() {
  check_run({"mount", "-o", "remount,rw", point_});
}

bool holds_user_xattrs(const std::string& directory) {
  const TempDir temp(directory);
  return ::setxattr(temp.path().c_str(), "user.probe", "", 0, 0) == 0;
}

void OnEachFileSystem::SetUp() {
  const std::string& reason = why_not(GetParam());
  if (!reason.empty())
    GTEST_SKIP() << reason;
  mount_.emplace(GetParam(), mount_options());
}

}  // namespace lamina::test
