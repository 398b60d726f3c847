#include "tests/support/faulty_kernel.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lamina::test {
namespace {

constexpr std::array kNames = {
    "openat",       "create",          "close",        "fstat",
    "fstatat",      "fstatfs",         "getdents",     "readlinkat",
    "read",         "pread",           "write",        "pwrite",
    "lseek",        "copy_file_range", "ficlone",      "ftruncate",
    "fallocate",    "mkdirat",         "symlinkat",    "mknodat",
    "linkat",       "unlinkat",        "renameat2",    "fchown",
    "fchownat",     "fchmod",          "fchmodat",     "futimens",
    "utimensat",    "flistxattr",      "fgetxattr",    "fsetxattr",
    "fremovexattr", "listxattrat",     "getxattrat",   "setxattrat",
    "syncfs",       "fsync",           "unshare_umask"};
static_assert(kNames.size() == static_cast<std::size_t>(kLastOp) + 1);

bool is_end_of(std::string_view name, std::string_view path) {
  if (name.empty() || name == path)
    return true;
  return path.size() > name.size() && path.ends_with(name) &&
         path[path.size() - name.size() - 1] == '/';
}

}  // namespace

const char* to_string(Op op) {
  return kNames[static_cast<std::size_t>(op)];
}

Fault& Fault::call(std::size_t n) {
  first_ = n;
  last_ = n;
  return *this;
}

Fault& Fault::from(std::size_t n) {
  first_ = n;
  return *this;
}

Fault& Fault::with(std::string word) {
  word_ = std::move(word);
  return *this;
}

Fault& Fault::fails(int code) {
  code_ = code;
  return *this;
}

Fault& Fault::returns(long value) {
  value_ = value;
  return *this;
}

Fault& Fault::gives_at_most(std::size_t bytes) {
  limit_ = bytes;
  return *this;
}

Fault& Fault::first(std::function<void()> body) {
  before_ = [body = std::move(body)](int) { body(); };
  return *this;
}

Fault& Fault::first(std::function<void(int)> body) {
  before_ = std::move(body);
  return *this;
}

Fault& Fault::shows(std::function<void(struct stat&)> change) {
  change_stat_ = std::move(change);
  return *this;
}

Fault& Fault::shows(std::function<void(struct statfs&)> change) {
  change_statfs_ = std::move(change);
  return *this;
}

FaultyKernel::FaultyKernel(Kernel& behind)
    : behind_(behind) {}

FaultyKernel::~FaultyKernel() = default;

Fault& FaultyKernel::on(Op op, std::string name) {
  const std::lock_guard lock(mutex_);
  Fault& fault = rules_.emplace_front();
  fault.op_ = op;
  fault.name_ = std::move(name);
  return fault;
}

std::size_t FaultyKernel::count(Op op, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(log_.begin(), log_.end(), [&](const Call& call) {
        return call.op == op && is_end_of(name, call.path);
      }));
}

std::size_t FaultyKernel::calls(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(
      log_.begin(), log_.end(),
      [&](const Call& call) { return is_end_of(name, call.path); }));
}

std::size_t FaultyKernel::faults() const {
  const std::lock_guard lock(mutex_);
  return faults_;
}

std::string FaultyKernel::trace(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  std::string out;
  for (const Call& call : log_) {
    if (is_end_of(name, call.path))
      out += std::string(to_string(call.op)) + " ";
  }
  return out;
}

FaultyKernel::Verdict FaultyKernel::judge(Call call) {
  const std::lock_guard lock(mutex_);
  Verdict verdict;
  bool decided = false;
  for (Fault& rule : rules_) {
    if (rule.op_ != call.op || !is_end_of(rule.name_, call.path) ||
        (rule.word_ && *rule.word_ != call.word)) {
      continue;
    }
    ++rule.seen_;
    if (rule.seen_ < rule.first_ || rule.seen_ > rule.last_)
      continue;
    if (rule.before_)
      verdict.before.push_back(rule.before_);
    if (decided)
      continue;
    decided = rule.code_ || rule.value_ || rule.limit_ || rule.change_stat_ ||
              rule.change_statfs_;
    verdict.code = rule.code_;
    verdict.value = rule.value_;
    verdict.limit = rule.limit_.value_or(verdict.limit);
    verdict.change_stat = rule.change_stat_;
    verdict.change_statfs = rule.change_statfs_;
  }
  faults_ += decided ? 1U : 0U;
  log_.push_back(std::move(call));
  return verdict;
}

}  // namespace lamina::test
