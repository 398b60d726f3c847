// The fixture of docs/embedding.md, as a user of the library would write it. It
// uses no test support on purpose.
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "base/worker_pool.h"
#include "copy/dir_copy.h"
#include "copy/remove_tree.h"

namespace {

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void make_prepared_tree(const std::string& top) {
  ASSERT_EQ(mkdir(top.c_str(), 0755), 0);
  ASSERT_EQ(mkdir((top + "/etc").c_str(), 0750), 0);
  write_file(top + "/etc/name", "prepared");
  ASSERT_EQ(link((top + "/etc/name").c_str(), (top + "/name").c_str()), 0);
}

class TreeFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/tree-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    top_ = pattern;
    make_prepared_tree(top_ + "/prepared");
    auto report = lamina::copy::dir_copy(top_ + "/prepared", top_ + "/work");
    ASSERT_TRUE(report) << report.error().message();
  }

  void TearDown() override {
    auto parent = lamina::open_parent(lamina::real_kernel(), top_);
    ASSERT_TRUE(parent) << parent.error().message();
    auto removed = lamina::copy::remove_tree(parent->parent, parent->name);
    EXPECT_TRUE(removed) << removed.error().message();
  }

  std::string top_;
};

// A second tree on top of the first: what a layer adds to its parent.
class LayeredFixture : public TreeFixture {
 protected:
  void SetUp() override {
    TreeFixture::SetUp();
    auto report = lamina::copy::dir_copy(top_ + "/work", top_ + "/layer");
    ASSERT_TRUE(report) << report.error().message();
    write_file(top_ + "/layer/added", "by the layer");
  }
};

TEST_F(TreeFixture, StartsFromAFreshTree) {
  EXPECT_EQ(read_file(top_ + "/work/etc/name"), "prepared");

  write_file(top_ + "/work/etc/name", "changed");

  EXPECT_EQ(read_file(top_ + "/prepared/etc/name"), "prepared");
}

TEST_F(TreeFixture, KeepsHardLinks) {
  write_file(top_ + "/work/etc/name", "changed");

  EXPECT_EQ(read_file(top_ + "/work/name"), "changed");
}

TEST_F(LayeredFixture, LeavesTheParentAsItWas) {
  EXPECT_EQ(read_file(top_ + "/layer/added"), "by the layer");
  EXPECT_NE(access((top_ + "/work/added").c_str(), F_OK), 0);
}

// The same as an ordinary user, in a process of its own.
TEST(Embedding, WorksAsAnOrdinaryUser) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "already an ordinary user";
  }
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool dropped = setresgid(65534, 65534, 65534) == 0 &&
                   setresuid(65534, 65534, 65534) == 0;
    char pattern[] = "/tmp/tree-XXXXXX";
    bool done = dropped && mkdtemp(pattern) != nullptr;
    std::string top = pattern;
    done = done && mkdir((top + "/a").c_str(), 0755) == 0;
    write_file(top + "/a/f", "mine");
    // The pool's threads did not come along with fork(2).
    lamina::WorkerPool pool(lamina::real_kernel());
    lamina::copy::Options options;
    options.pool = &pool;
    done = done && lamina::copy::dir_copy(top + "/a", top + "/b", options) &&
           read_file(top + "/b/f") == "mine";
    auto parent = lamina::open_parent(lamina::real_kernel(), top);
    lamina::copy::RemoveOptions removal;
    removal.pool = &pool;
    done = done && parent &&
           lamina::copy::remove_tree(parent->parent, parent->name, removal);
    _exit(done ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
