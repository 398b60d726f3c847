#include "copy/differences.h"

#include <algorithm>
#include <utility>

#include "copy/first_error.h"

namespace lamina::copy {

void Differences::note(std::string path, std::string text) {
  std::lock_guard lock(mutex_);
  ++count_;
  auto after = std::upper_bound(first_.begin(), first_.end(), path,
                                [](const std::string& a, const Difference& b) {
                                  return compare_in_walk_order(a, b.path) < 0;
                                });
  first_.insert(after, {std::move(path), std::move(text)});
  if (first_.size() > Comparison::kShown) {
    first_.pop_back();
  }
}

void Differences::take(Comparison& out) {
  std::lock_guard lock(mutex_);
  out.differences = count_;
  out.first = std::move(first_);
}

Counterparts::Pair Counterparts::note(const struct stat& source,
                                      const struct stat& copy) {
  const InodeKey from{source.st_dev, source.st_ino};
  const InodeKey to{copy.st_dev, copy.st_ino};
  std::lock_guard lock(mutex_);
  auto [there, new_source] = to_copy_.try_emplace(from, to);
  auto back = to_source_.try_emplace(to, from).first;
  if (!Same()(back->second, from)) {
    return Pair::joined;
  }
  if (!Same()(there->second, to)) {
    return Pair::split;
  }
  return new_source ? Pair::fits : Pair::known;
}

}  // namespace lamina::copy
