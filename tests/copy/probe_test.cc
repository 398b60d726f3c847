#include "copy/probe.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "base/path.h"
#include "tests/support/faulty_kernel.h"
#include "tests/support/fixtures.h"
#include "tests/support/mounts.h"
#include "tests/support/tree.h"

namespace lamina::copy {
namespace {

using test::FaultyKernel;
using test::FileSystem;
using test::Op;
using test::TempDir;

Result<ProbeReport> probe_path(const std::string& path,
                               Kernel* kernel = nullptr) {
  auto dir = open_directory(real_kernel(), path);
  EXPECT_TRUE(dir) << dir.error().message();
  return probe(*dir, path, kernel);
}

std::string names_in(const std::string& path) {
  test::DumpOptions options;
  options.root = test::Shown::no;
  return test::dump_tree(path, options);
}

class ProbeOnEach : public test::OnEachFileSystem {};

TEST_P(ProbeOnEach, AgreesWithWhatIsKnownAndLeavesNothing) {
  const auto before = test::open_descriptors();

  auto report = probe_path(mount().path());

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(test::open_descriptors(), before);
  EXPECT_EQ(names_in(mount().path()), "");
  const bool reflinks =
      GetParam() == FileSystem::xfs || GetParam() == FileSystem::btrfs;
  EXPECT_EQ(report->can("reflink"), reflinks);
  EXPECT_EQ(report->best, reflinks ? Sharing::reflink : Sharing::hardlink);
  EXPECT_EQ(to_string(report->kind), test::to_string(GetParam()));
  for (const char* name : {"hard_links", "symlinks", "holes", "fifos",
                           "sockets", "d_type", "acls", "exact_times"}) {
    EXPECT_TRUE(report->can(name)) << name;
  }
  EXPECT_FALSE(report->can("case_folding"));
  EXPECT_GT(report->bytes_free, 0U);
  EXPECT_GE(report->bytes_total, report->bytes_free);
}

LAMINA_ON_EACH_FILE_SYSTEM(ProbeOnEach);

TEST(Probe, SaysWhyNot) {
  const TempDir temp;
  FaultyKernel kernel;
  kernel.on(Op::ficlone).fails(EXDEV);
  kernel.on(Op::linkat).fails(EPERM);
  kernel.on(Op::mknodat, "device").fails(EPERM);

  auto report = probe_path(temp.path(), &kernel);

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_FALSE(report->can("reflink"));
  EXPECT_FALSE(report->can("devices"));
  EXPECT_EQ(report->best, Sharing::content);
  EXPECT_EQ(report->findings.front().why, "Invalid cross-device link (EXDEV)");
}

TEST(Probe, SeesNamesThatFoldCase) {
  const TempDir temp;
  FaultyKernel kernel;
  kernel.on(Op::fstatat, "FILE").returns(0);

  auto report = probe_path(temp.path(), &kernel);

  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->can("case_folding"));
}

TEST(Probe, RefusesADirectoryInWhichNothingCanBeMade) {
  const TempDir temp;
  FaultyKernel kernel;
  kernel.on(Op::mkdirat).fails(EROFS);

  auto report = probe_path(temp.path(), &kernel);

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message(),
            "mkdir on '" + temp.path() + "': Read-only file system (EROFS)");
}

TEST(Probe, LeavesNothingWhenTheDiskIsFull) {
  const TempDir temp;
  FaultyKernel kernel;
  kernel.on(Op::pwrite, "file").fails(ENOSPC);

  auto report = probe_path(temp.path(), &kernel);

  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ENOSPC);
  EXPECT_EQ(names_in(temp.path()), "");
}

TEST(Probe, AnswersForAnOrdinaryUser) {
  if (!test::may_become_other_users()) {
    GTEST_SKIP() << "cannot become another user";
  }
  const TempDir temp;
  ASSERT_EQ(::chmod(temp.path().c_str(), 0777), 0);

  const std::string said = test::as_ordinary_user([&]() -> std::string {
    auto report = probe_path(temp.path());
    if (!report) {
      return report.error().message();
    }
    std::string may;
    for (const char* name :
         {"devices", "trusted_xattrs", "owners", "fifos", "hard_links"}) {
      may += report->can(name) ? std::string(name) + " " : "";
    }
    return may;
  });

  EXPECT_EQ(said, "fifos hard_links ");
}

}  // namespace
}  // namespace lamina::copy
