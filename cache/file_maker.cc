#include "cache/file_maker.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>

#include "base/fs_kind.h"
#include "base/kernel.h"

namespace lamina::cache {

namespace {

constexpr int kCreate =
    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
constexpr int64_t kSecondNs = 1'000'000'000;

timespec time_of(int64_t ns) {
  int64_t seconds = ns / kSecondNs;
  int64_t rest = ns % kSecondNs;
  if (rest < 0) {
    --seconds;
    rest += kSecondNs;
  }
  return {seconds, rest};
}

Result<void> finish_file(const Fd& target, const FileFinish& finish) {
  Kernel& kernel = real_kernel();
  if (kernel.fchmod(target.get(), finish.mode) != 0) {
    return fail(last_error("fchmod", ""));
  }
  timespec time = time_of(finish.mtime_ns);
  timespec times[2] = {time, time};
  if (kernel.futimens(target.get(), times) != 0) {
    return fail(last_error("futimens", ""));
  }
  if (finish.flush == FileFinish::Flush::yes &&
      kernel.fsync(target.get()) != 0) {
    return fail(last_error("fsync", ""));
  }
  return {};
}

}  // namespace

Result<uint64_t> FileMaker::fill(const Fd& source, const Fd& target) {
  Kernel& kernel = real_kernel();
  struct stat stat {};
  if (kernel.fstat(source.get(), &stat) != 0) {
    return fail(last_error("fstat", ""));
  }
  copy::Abilities* abilities = abilities_.find(stat.st_dev);
  if (abilities == nullptr) {
    TRY_ASSIGN(FsKind kind, fs_kind_of(kernel, source, ""));
    abilities = abilities_.add(stat.st_dev, kind);
  }
  copy::FileData data;
  data.begin(kernel, {source.get(), target.get(), stat}, *abilities,
             copy::Sharing::automatic, buffer_);
  for (;;) {
    TRY_ASSIGN(bool all, data.step());
    if (all) {
      return static_cast<uint64_t>(stat.st_size);
    }
  }
}

Result<uint64_t> FileMaker::make(const Fd& source, int dir,
                                 const std::string& name,
                                 const FileFinish& finish) {
  Kernel& kernel = real_kernel();
  Fd target(kernel.openat(dir, name.c_str(), kCreate, 0600));
  if (!target.valid()) {
    return fail(last_error("openat", ""));
  }
  Result<uint64_t> size = source.valid() ? fill(source, target) : 0;
  Result<void> done = {};
  if (size) {
    done = finish_file(target, finish);
  }
  if (size && done) {
    done = target.close(kernel, "");
  }
  if (size && done) {
    return size;
  }
  [[maybe_unused]] int ignored = kernel.unlinkat(dir, name.c_str(), 0);
  return fail(std::move(size ? done.error() : size.error()));
}

Result<void> settle(int dir, const char* name) {
  constexpr std::chrono::milliseconds kLastPause{20};
  constexpr std::chrono::seconds kPatience{5};
  Fd fd(real_kernel().openat(
      dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0));
  if (!fd.valid()) {
    return fail(last_error("openat", ""));
  }
  // A lease for reading is refused with EAGAIN while a writer is there,
  // fcntl(2). Who breaks one causes a signal, whose default would end this
  // process; SIGURG's does nothing.
  ::fcntl(fd.get(), F_SETSIG, SIGURG);
  auto until = std::chrono::steady_clock::now() + kPatience;
  for (std::chrono::milliseconds pause{0};
       ::fcntl(fd.get(), F_SETLEASE, F_RDLCK) != 0;
       pause = std::min(pause * 2 + std::chrono::milliseconds(1), kLastPause)) {
    if (errno != EAGAIN || std::chrono::steady_clock::now() > until) {
      return {};
    }
    std::this_thread::sleep_for(pause);
  }
  ::fcntl(fd.get(), F_SETLEASE, F_UNLCK);
  return {};
}

}  // namespace lamina::cache
