#include "tests/cache/caching.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "tests/support/tree.h"

namespace lamina::cache::test {

namespace {

struct stat stat_of(const std::string& path) {
  struct stat out {};
  EXPECT_EQ(::lstat(path.c_str(), &out), 0) << path;
  return out;
}

}  // namespace

Blobs::Blobs(const std::string& path)
    : path_(path) {
  ::mkdir(path.c_str(), 0755);
  source_ = std::make_unique<BlobDirectory>(directory(path));
}

archive::Digest Blobs::add(std::string_view bytes, mode_t mode) {
  auto digest = digest_of(bytes);
  EXPECT_TRUE(digest) << digest.error().message();
  const std::string to = path_ + "/" + hex_of(*digest);
  if (::access(to.c_str(), F_OK) != 0) {
    write(to, bytes);
    EXPECT_EQ(::chmod(to.c_str(), mode), 0);
  }
  return *digest;
}

std::string Blobs::path_of(std::string_view bytes) const {
  return path_ + "/" + hex_of(*digest_of(bytes));
}

TreeFile file(Blobs& blobs, const std::string& path, std::string_view bytes) {
  TreeFile out;
  out.path = path;
  out.digest = blobs.add(bytes);
  return out;
}

TreeFile tool(Blobs& blobs, const std::string& path, std::string_view bytes) {
  TreeFile out = file(blobs, path, bytes);
  out.executable = true;
  return out;
}

ManifestRecipe recipe_of(Manifest manifest, BlobSource& blobs, std::string id) {
  auto normal = normalise(manifest);
  EXPECT_TRUE(normal) << normal.error().message();
  return {std::move(id), [manifest] { return manifest; }, &blobs};
}

Manifest small_tree(Blobs& blobs) {
  Manifest out;
  out.files = {file(blobs, "a.txt", "alpha"),
               tool(blobs, "bin/tool", "#!/bin/sh\necho ok\n"),
               file(blobs, "lib/deep/nested/data", "beta"),
               file(blobs, "lib/__init__.py", "")};
  out.directories = {"out"};
  out.symlinks = {{"to-file", "a.txt"},
                  {"to-dir", "lib/deep"},
                  {"dangling", "nowhere/at/all"},
                  {"outside", "/etc/passwd"}};
  return out;
}

NamePlace place(const std::string& path) {
  auto opened = open_parent(real_kernel(), path);
  EXPECT_TRUE(opened) << opened.error().message();
  return std::move(*opened);
}

Fd directory(const std::string& path) {
  auto opened = open_directory(real_kernel(), path);
  EXPECT_TRUE(opened) << opened.error().message();
  return std::move(*opened);
}

Result<Answer> get(Cache& cache, std::string_view key, const std::string& to,
                   Recipe* recipe, copy::Sharing sharing) {
  TRY_ASSIGN(NamePlace destination, open_parent(real_kernel(), to));
  Request request = {key, destination, recipe, sharing};
  return cache.get(request);
}

std::string state_of(const std::string& path) {
  return lamina::test::dump_tree(path);
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void write(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  EXPECT_TRUE(out.good()) << path;
}

mode_t mode_of(const std::string& path) {
  return stat_of(path).st_mode & 07777;
}

ino_t inode_of(const std::string& path) {
  return stat_of(path).st_ino;
}

nlink_t links_of(const std::string& path) {
  return stat_of(path).st_nlink;
}

}  // namespace lamina::cache::test
