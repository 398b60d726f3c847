#include "copy/dir.h"

#include <vector>

namespace lamina::copy {

Dir::~Dir() {
  // Unwinds a chain of last references in a loop: a tree may be deeper than a
  // thread's stack.
  std::shared_ptr<Dir> next = std::move(parent_);
  while (next && next.use_count() == 1) {
    std::shared_ptr<Dir> above = std::move(next->parent_);
    next = std::move(above);
  }
}

std::string Dir::path() const {
  std::vector<const Dir*> chain;
  size_t length = 0;
  for (const Dir* dir = this; dir->parent_; dir = dir->parent_.get()) {
    chain.push_back(dir);
    length += dir->name_.size() + 1;
  }
  std::string out;
  out.reserve(length);
  for (size_t i = chain.size(); i-- > 0;) {
    if (!out.empty()) {
      out += '/';
    }
    out += chain[i]->name_;
  }
  return out;
}

std::string Dir::path_of(std::string_view child) const {
  std::string out = path();
  if (!out.empty()) {
    out += '/';
  }
  out += child;
  return out;
}

}  // namespace lamina::copy
