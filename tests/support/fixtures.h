// Small things that tests put around the code under test: who it runs as, what
// it leaves behind, what the process allows.
#pragma once

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace lamina::test {

// The open descriptors of this process, each as "NUMBER -> TARGET". Nothing
// leaked when it is the same before and after:
//   const auto before = open_descriptors();
//   ...
//   EXPECT_EQ(open_descriptors(), before);
std::vector<std::string> open_descriptors();

// How many threads this process has.
std::size_t thread_count();

inline constexpr uid_t kNobody = 65534;

// Runs `body` in a child as user and group `id` without any capability, and
// returns what it returned; "signal N" or "exception: ..." when it did not.
// Assertions of gtest are lost there, so let the text say what was wrong:
//   EXPECT_EQ(as_ordinary_user([&] { return copy_error(...); }), "");
// The child has one thread. Requires root; `may_become_other_users()` says.
std::string as_ordinary_user(const std::function<std::string()>& body,
                             uid_t id = kNobody);
bool may_become_other_users();

// Sets the process's umask for a scope.
class UmaskScope {
 public:
  explicit UmaskScope(mode_t mask)
      : before_(::umask(mask)) {}
  UmaskScope(const UmaskScope&) = delete;
  UmaskScope& operator=(const UmaskScope&) = delete;
  ~UmaskScope() { ::umask(before_); }

 private:
  mode_t before_;
};

// Lowers a soft limit of the process for a scope: LimitScope(RLIMIT_NOFILE, 64)
class LimitScope {
 public:
  LimitScope(int resource, rlim_t soft);
  LimitScope(const LimitScope&) = delete;
  LimitScope& operator=(const LimitScope&) = delete;
  ~LimitScope();

 private:
  int resource_;
  rlimit before_ = {};
};

}  // namespace lamina::test
