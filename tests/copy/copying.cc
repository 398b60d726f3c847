#include "tests/copy/copying.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

namespace lamina::test {

struct stat stat_of(const std::string& path) {
  struct stat out {};
  if (::lstat(path.c_str(), &out) != 0)
    throw_errno("lstat", path);
  return out;
}

bool exists(const std::string& path) {
  struct stat out {};
  return ::lstat(path.c_str(), &out) == 0;
}

void write_file(const std::string& path, std::string_view bytes) {
  const Descriptor fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.valid())
    throw_errno("open", path);
  const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
  if (n != static_cast<ssize_t>(bytes.size()))
    throw_errno("write", path);
}

std::string read_file(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid())
    throw_errno("open", path);
  std::string out;
  std::array<char, 4096> buffer;
  ssize_t n = 0;
  while ((n = ::read(fd.get(), buffer.data(), buffer.size())) > 0)
    out.append(buffer.data(), static_cast<std::size_t>(n));
  if (n < 0)
    throw_errno("read", path);
  return out;
}

bool same_inode(const std::string& a, const std::string& b) {
  const struct stat first = stat_of(a);
  const struct stat second = stat_of(b);
  return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

void expect_same(const std::string& src, const std::string& dst,
                 const DumpOptions& options) {
  EXPECT_EQ(dump_difference(dump_tree(src, options), dump_tree(dst, options)),
            "");
}

}  // namespace lamina::test
