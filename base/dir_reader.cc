#include "base/dir_reader.h"

#include <cstring>

#include "base/kernel.h"

namespace lamina {

namespace {

// struct linux_dirent64 of getdents(2), read by offset: its name is a flexible
// array, which C++ has not.
constexpr size_t kInodeAt = 0;
constexpr size_t kOffsetAt = 8;
constexpr size_t kLengthAt = 16;
constexpr size_t kTypeAt = 18;
constexpr size_t kNameAt = 19;

template <typename T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

bool is_dot(const char* name) {
  return name[0] == '.' &&
         (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace

Result<bool> Listing::fill(Kernel& kernel, int dir, std::string_view subject) {
  if (capacity_ < kBytes) {
    buffer_ = std::make_unique_for_overwrite<char[]>(kBytes);
    capacity_ = kBytes;
  }
  at_ = 0;
  size_ = 0;
  ssize_t n = kernel.getdents(dir, buffer_.get(), kBytes);
  if (n < 0) {
    return fail(last_error("getdents64", subject));
  }
  size_ = static_cast<size_t>(n);
  for (size_t at = 0; at < size_;
       at += load<uint16_t>(buffer_.get() + at + kLengthAt)) {
    end_offset_ = load<int64_t>(buffer_.get() + at + kOffsetAt);
  }
  return n > 0;
}

void Listing::assign(std::string_view raw) {
  if (capacity_ < raw.size()) {
    buffer_ = std::make_unique_for_overwrite<char[]>(raw.size());
    capacity_ = raw.size();
  }
  std::memcpy(buffer_.get(), raw.data(), raw.size());
  at_ = 0;
  size_ = raw.size();
}

bool Listing::parse(DirEntry* out) {
  if (at_ >= size_) {
    return false;
  }
  const char* record = buffer_.get() + at_;
  out->inode = load<uint64_t>(record + kInodeAt);
  out->next = load<int64_t>(record + kOffsetAt);
  out->type = load<unsigned char>(record + kTypeAt);
  out->name = record + kNameAt;
  out->length = std::strlen(out->name);
  at_ += load<uint16_t>(record + kLengthAt);
  return true;
}

bool Listing::next(DirEntry* out) {
  while (parse(out)) {
    if (!is_dot(out->name)) {
      return true;
    }
  }
  return false;
}

std::string_view Listing::take(size_t entries) {
  size_t start = at_;
  DirEntry entry;
  while (entries > 0 && next(&entry)) {
    --entries;
  }
  return {buffer_.get() + start, at_ - start};
}

}  // namespace lamina
