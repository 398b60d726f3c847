#include "copy/abilities.h"

#include <cerrno>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace lamina::copy {
namespace {

constexpr Method kMethods[] = {Method::clone, Method::range, Method::link,
                               Method::list_xattrs};

struct Row {
  Method method;
  int code;
  bool refusal;      // These two devices never can.
  bool unsupported;  // This file cannot, so try the next method.
};

constexpr Row kTable[] = {
    {Method::clone, EXDEV, true, true},
    {Method::clone, EOPNOTSUPP, true, true},
    {Method::clone, ENOSYS, true, true},
    {Method::clone, ENOTTY, true, true},
    {Method::clone, EINVAL, false, true},
    {Method::clone, EPERM, false, true},
    {Method::clone, ETXTBSY, false, true},
    {Method::clone, EBADF, false, true},
    {Method::clone, EOVERFLOW, false, false},
    {Method::range, EXDEV, true, true},
    {Method::range, EOPNOTSUPP, true, true},
    {Method::range, ENOSYS, true, true},
    {Method::range, ENOTTY, false, false},
    {Method::range, EINVAL, false, true},
    {Method::range, EPERM, false, true},
    {Method::range, ETXTBSY, false, true},
    {Method::range, EBADF, false, true},
    {Method::range, EOVERFLOW, false, true},
    {Method::link, EXDEV, true, true},
    {Method::link, EOPNOTSUPP, true, true},
    {Method::link, ENOSYS, true, true},
    {Method::link, EPERM, false, true},
    {Method::link, EMLINK, false, true},
    {Method::link, EINVAL, false, false},
    {Method::link, EEXIST, false, false},
    {Method::list_xattrs, EOPNOTSUPP, true, true},
    {Method::list_xattrs, ENOSYS, true, true},
    {Method::list_xattrs, EPERM, false, false},
    {Method::list_xattrs, EINVAL, false, false},
};

TEST(Abilities, TellARefusalFromOneFileThatCannot) {
  for (const Row& row : kTable) {
    EXPECT_EQ(is_refusal(row.method, row.code), row.refusal)
        << static_cast<int>(row.method) << " errno " << row.code;
    EXPECT_EQ(is_unsupported(row.method, row.code), row.unsupported)
        << static_cast<int>(row.method) << " errno " << row.code;
  }
}

TEST(Abilities, NeverTakeARealFaultForAReasonToTryTheNextMethod) {
  for (const Method method : kMethods) {
    for (const int code : {0, ENOSPC, EDQUOT, EIO, EINTR, EROFS, EFBIG, ENOMEM,
                           EMFILE, ENFILE, EACCES, ENOENT, ESTALE}) {
      EXPECT_FALSE(is_unsupported(method, code))
          << static_cast<int>(method) << " errno " << code;
    }
  }
}

TEST(AbilityTable, KeepsOneEntryForEachDevice) {
  AbilityTable table;
  EXPECT_EQ(table.find(1), nullptr);

  Abilities* one = table.add(1, FsKind::xfs);
  Abilities* two = table.add(2, FsKind::tmpfs);
  one->no_clone = true;

  EXPECT_EQ(table.find(1), one);
  EXPECT_EQ(table.find(2), two);
  EXPECT_EQ(one->source_kind, FsKind::xfs);
  EXPECT_FALSE(two->no_clone);
}

TEST(AbilityTable, KeepsWhatCameFirst) {
  AbilityTable table;
  Abilities* first = table.add(1, FsKind::xfs);
  first->no_range = true;

  EXPECT_EQ(table.add(1, FsKind::other), first);
  EXPECT_TRUE(table.find(1)->no_range);
  EXPECT_EQ(table.find(1)->source_kind, FsKind::xfs);
}

TEST(AbilityTable, GivesAllThreadsTheSame) {
  AbilityTable table;
  std::vector<Abilities*> got(4);
  std::vector<std::thread> threads;
  for (Abilities*& out : got)
    threads.emplace_back([&] { out = table.add(9, FsKind::ext4); });
  for (std::thread& thread : threads)
    thread.join();

  for (const Abilities* one : got)
    EXPECT_EQ(one, got[0]);
}

}  // namespace
}  // namespace lamina::copy
