// Runs a command on a kernel that seems older than it is.
//
//   old_kernel enosys COMMAND...   as Linux 5.11 answers
//   old_kernel eperm COMMAND...    as Docker's seccomp profile answers
//
// Every system call that Lamina has a fallback for fails, in the command and
// in all that it starts. Exits with the command's status; 125 when the filter
// cannot be set.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
#error "name this machine's AUDIT_ARCH_*"
#endif

// By number where Debian 12's headers are older than the call; numbers from
// 403 on are the same on every architecture.
constexpr uint32_t kRefused[] = {
    __NR_unshare, __NR_open_tree, __NR_move_mount,
    __NR_fsopen,  __NR_fsconfig,  __NR_fsmount,
    __NR_fspick,  __NR_openat2,   __NR_mount_setattr,
    452,  // fchmodat2
    457,  // statmount
    458,  // listmount
    463,  // setxattrat
    464,  // getxattrat
    465,  // listxattrat
    466,  // removexattrat
    467,  // open_tree_attr
    468,  // file_getattr
    469,  // file_setattr
};

sock_filter statement(int code, uint32_t value) {
  return {static_cast<uint16_t>(code), 0, 0, value};
}

sock_filter jump(int code, uint32_t value, size_t if_true, size_t if_false) {
  return {static_cast<uint16_t>(code), static_cast<uint8_t>(if_true),
          static_cast<uint8_t>(if_false), value};
}

std::vector<sock_filter> refusing(int answer) {
  const size_t calls = std::size(kRefused);
  std::vector<sock_filter> program;
  program.push_back(
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  // A foreign architecture has other numbers: all of it is allowed.
  program.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, kArch, 0, calls + 1));
  program.push_back(
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (size_t i = 0; i < calls; ++i) {
    program.push_back(
        jump(BPF_JMP | BPF_JEQ | BPF_K, kRefused[i], calls - i, 0));
  }
  program.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  program.push_back(statement(
      BPF_RET | BPF_K,
      SECCOMP_RET_ERRNO | (static_cast<uint32_t>(answer) & SECCOMP_RET_DATA)));
  return program;
}

bool install(int answer) {
  std::vector<sock_filter> program = refusing(answer);
  sock_fprog filter{static_cast<unsigned short>(program.size()),
                    program.data()};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0) {
    return true;
  }
  // An ordinary user has to give up set-id programs first; root need not.
  return errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view word = argc > 2 ? argv[1] : "";
  if (word != "enosys" && word != "eperm") {
    std::fputs("usage: old_kernel enosys|eperm COMMAND...\n", stderr);
    return 2;
  }
  if (!install(word == "enosys" ? ENOSYS : EPERM)) {
    std::fprintf(stderr, "old_kernel: seccomp: %s\n", std::strerror(errno));
    return 125;
  }
  execvp(argv[2], argv + 2);
  std::fprintf(stderr, "old_kernel: %s: %s\n", argv[2], std::strerror(errno));
  return 127;
}
