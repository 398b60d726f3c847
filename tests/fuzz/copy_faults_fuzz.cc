// Whatever the system calls of a copy answer, within what a kernel may answer:
// the copy ends; one that says it succeeded is a copy; the source stays as it
// was; and no descriptor is left open.
//
// The first byte chooses the options, each three more make a rule: which call,
// from which or on which turn, and what it answers.
#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "copy/dir_copy.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/tree.h"

namespace {

using namespace lamina;
using test::Op;

constexpr size_t kMostRules = 12;
constexpr size_t kMostTurns = 16;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// What `op` may fail with, without saying that there is nothing to be copied:
// an ENOTSUP from listxattr(2) would be such an answer.
std::vector<int> errors_of(Op op) {
  switch (op) {
    case Op::ficlone:
      return {EOPNOTSUPP, EXDEV, EINVAL, EPERM, EIO, ENOSPC, EINTR};
    case Op::copy_file_range:
      return {EOPNOTSUPP, EXDEV, EINVAL, ENOSYS, EIO, ENOSPC, EINTR};
    case Op::linkat:
      return {EMLINK, EXDEV, EPERM, EIO, ENOSPC};
    case Op::lseek:
      // EINVAL would say that the file system knows no holes.
      return {EIO, EBADF};
    case Op::fallocate:
      return {EOPNOTSUPP, ENOSPC, EINTR};
    case Op::unshare_umask:
      return {EPERM, ENOSYS};
    case Op::fsetxattr:
    case Op::setxattrat:
      return {EIO, ENOTSUP, ENOSPC, E2BIG, EPERM};
    case Op::flistxattr:
    case Op::listxattrat:
    case Op::fgetxattr:
    case Op::getxattrat:
    case Op::fremovexattr:
    case Op::unlinkat:
    case Op::readlinkat:
      return {EIO, ENOMEM};
    default:
      return {EIO, ENOSPC, EINTR, EPERM, EMFILE, ENOMEM, EDQUOT};
  }
}

bool moves_bytes(Op op) {
  return op == Op::read || op == Op::pread || op == Op::write ||
         op == Op::pwrite || op == Op::copy_file_range;
}

void add_rule(test::FaultyKernel& kernel, const uint8_t* bytes) {
  const Op op =
      static_cast<Op>(bytes[0] % (static_cast<int>(test::kLastOp) + 1));
  const size_t turn = 1 + bytes[1] % kMostTurns;
  const uint8_t answer = bytes[2];
  const std::vector<int> errors = errors_of(op);
  const int error = errors[answer / 3 % errors.size()];

  test::Fault& fault = kernel.on(op);
  if (moves_bytes(op) && answer % 3 == 1) {
    fault.returns(0);
  } else if (moves_bytes(op) && answer % 3 == 2) {
    // Not single bytes: three hundred thousand of them are no use.
    fault.gives_at_most(1000 + 100 * answer);
  } else {
    fault.fails(error);
  }
  // A signal comes once; one at every call would be waited for without end.
  if (bytes[1] >= 128 && error != EINTR) {
    fault.from(turn);
  } else {
    fault.call(turn);
  }
}

size_t open_descriptors() {
  DIR* all = opendir("/proc/self/fd");
  require(all != nullptr);
  size_t count = 0;
  while (readdir(all) != nullptr) {
    ++count;
  }
  closedir(all);
  return count;
}

constexpr const char* kTree = R"(
  dir     .            mode=0750
  dir     deep/er      mtime=-1.500000000
  file    deep/er/one  link=1 text=shared
  file    deep/two     link=1
  file    big          size=300000 fill=7
  file    empty        mode=0600
  file    holes        size=1048576 data=0+4096,524288+4096
  file    small        mode=4755 text=hello
  symlink sym          -> nowhere link=2
  symlink sym2         link=2
  fifo    pipe
)";

struct Source {
  // In memory where there is a place.
  test::TempDir temp{access("/dev/shm", W_OK) == 0 ? "/dev/shm" : ""};
  std::string path = temp.path("src");
  std::string text;

  Source() {
    test::make_tree(path, kTree);
    text = test::dump_tree(path);
  }
};

copy::Options options_from(uint8_t byte, Kernel& kernel) {
  copy::Options options;
  options.kernel = &kernel;
  options.workers = 1;
  const copy::Sharing sharings[] = {
      copy::Sharing::automatic, copy::Sharing::content, copy::Sharing::hardlink,
      copy::Sharing::reflink};
  options.sharing = sharings[byte % 4];
  options.leftovers =
      (byte & 4) != 0 ? copy::Leftovers::kept : copy::Leftovers::removed;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  static const Source source;
  const std::string target = source.temp.path("dst");
  test::FaultyKernel kernel;
  for (size_t at = 1; at + 3 <= size && at < 3 * kMostRules; at += 3) {
    add_rule(kernel, data + at);
  }
  const copy::Options options = options_from(data[0], kernel);
  const size_t before = open_descriptors();

  auto report = copy::dir_copy(source.path, target, options);

  require(open_descriptors() == before);
  require(test::dump_tree(source.path) == source.text);
  if (report) {
    // A link that was refused once is a copy, counted, and shows in the dump.
    require(report->link_fallbacks != 0 ||
            test::dump_tree(target) == source.text);
  } else {
    require(!report.error().message().empty());
  }
  if (access(target.c_str(), F_OK) == 0) {
    test::remove_all_at(source.temp.fd(), "dst");
  }
  return 0;
}
