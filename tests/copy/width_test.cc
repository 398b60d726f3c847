#include "copy/width.h"

#include <gtest/gtest.h>

namespace lamina::copy {
namespace {

constexpr FsKind kKinds[] = {FsKind::ext4,  FsKind::xfs,     FsKind::btrfs,
                             FsKind::tmpfs, FsKind::overlay, FsKind::pseudo,
                             FsKind::other};

TEST(BestWidth, IsAtLeastOneAndAtMostTheCpus) {
  for (const FsKind kind : kKinds) {
    EXPECT_EQ(best_width(kind, 0), 1U) << to_string(kind);
    EXPECT_EQ(best_width(kind, 1), 1U) << to_string(kind);
    for (unsigned cpus = 1; cpus <= 256; cpus *= 2) {
      EXPECT_GE(best_width(kind, cpus), 1U) << to_string(kind);
      EXPECT_LE(best_width(kind, cpus), cpus) << to_string(kind);
    }
  }
}

TEST(BestWidth, DoesNotGrowWithoutEnd) {
  for (const FsKind kind : kKinds)
    EXPECT_EQ(best_width(kind, 64), best_width(kind, 4096)) << to_string(kind);
}

TEST(FlushesBeforeCloning, OnlyWhereItWasMeasuredToHelp) {
  for (const FsKind kind : kKinds)
    EXPECT_EQ(flushes_before_cloning(kind), kind == FsKind::xfs)
        << to_string(kind);
}

}  // namespace
}  // namespace lamina::copy
