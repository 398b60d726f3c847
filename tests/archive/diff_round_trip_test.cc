// A diff applied to LOWER gives UPPER, for trees and changes by chance.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <string>

#include "archive/diff.h"
#include "copy/dir_copy.h"
#include "gtest/gtest.h"
#include "tests/archive/diffing.h"
#include "tests/support/fixtures.h"
#include "tests/support/random_changes.h"

namespace lamina::archive {
namespace {

using lamina::test::change_tree;
using lamina::test::dump_tree;
using lamina::test::make_tree;
using lamina::test::random_tree;
using lamina::test::RandomTreeOptions;
using lamina::test::Shown;
using lamina::test::TempDir;

RandomTreeOptions what_may_be() {
  RandomTreeOptions options;
  options.user_xattrs = RandomTreeOptions::May::yes;
  if (::geteuid() == 0) {
    options.owners = RandomTreeOptions::May::yes;
    options.devices = RandomTreeOptions::May::yes;
    options.set_id = RandomTreeOptions::May::yes;
  }
  return options;
}

// What a layer cannot say: attributes of the root, and holes.
const lamina::test::DumpOptions kShown = {.holes = Shown::no,
                                          .root = Shown::no};

struct Trees {
  TempDir temp;
  std::string lower = temp.path("lower");
  std::string upper = temp.path("upper");
  std::string tar = {};
};

std::string write(Trees& trees) {
  auto lower = open_directory(real_kernel(), trees.lower);
  auto upper = open_directory(real_kernel(), trees.upper);
  trees.tar.clear();
  auto report = write_diff(*lower, *upper, [&](Bytes bytes) -> Result<void> {
    trees.tar += text_of(bytes);
    return {};
  });
  return report ? "" : report.error().message();
}

// Writes the diff, applies it to a copy of LOWER and says how that differs from
// UPPER.
std::string round_trip(Trees& trees) {
  if (std::string error = write(trees); !error.empty()) {
    return error;
  }
  const std::string made = trees.temp.path("made");
  if (auto copied = copy::dir_copy(trees.lower, made, {}); !copied) {
    return copied.error().message();
  }
  MemorySource source(bytes_of(trees.tar));
  auto place = open_parent(real_kernel(), made);
  auto applied = apply_layer(source, *place, {});
  if (!applied) {
    return applied.error().message();
  }
  return lamina::test::dump_difference(dump_tree(trees.upper, kShown),
                                       dump_tree(made, kShown));
}

// Each as many seeds as a slice has; LAMINA_FULL=1 runs twenty times as many.
std::uint64_t seeds(std::uint64_t slice) {
  return std::getenv("LAMINA_FULL") != nullptr ? slice * 20 : slice;
}

template <typename Body>
void for_each_seed(std::uint64_t slice, Body body) {
  const std::uint64_t first = lamina::test::seed_from_environment(1);
  for (std::uint64_t seed = first; seed < first + seeds(slice); ++seed) {
    SCOPED_TRACE("LAMINA_SEED=" + std::to_string(seed));
    body(seed);
    if (::testing::Test::HasFailure()) {
      return;
    }
  }
}

// A tree by chance without what no layer can hold: sockets, and attributes
// without a value.
void make_random(const std::string& path, std::uint64_t seed,
                 std::size_t entries) {
  static const std::regex empty(" xattr:user\\.n[0-9]=(?=[ \n])");
  make_tree(path, std::regex_replace(random_tree(seed, entries, what_may_be()),
                                     empty, ""));
  lamina::test::remove_sockets(path);
}

TEST(DiffRoundTrip, GivesAChangedCopy) {
  for_each_seed(25, [](std::uint64_t seed) {
    Trees trees;
    make_random(trees.lower, seed, 80);
    ASSERT_TRUE(copy::dir_copy(trees.lower, trees.upper, {}));
    change_tree(trees.upper, seed, 30, what_may_be());

    EXPECT_EQ(round_trip(trees), "");
  });
}

TEST(DiffRoundTrip, GivesAChangedTreeThatSharesItsInodes) {
  for_each_seed(25, [](std::uint64_t seed) {
    Trees trees;
    make_random(trees.lower, seed, 80);
    copy::Options shared;
    shared.sharing = copy::Sharing::hardlink;
    ASSERT_TRUE(copy::dir_copy(trees.lower, trees.upper, shared));
    const std::string before = dump_tree(trees.lower);
    change_tree(trees.upper, seed, 30, what_may_be());
    ASSERT_EQ(dump_tree(trees.lower), before);

    EXPECT_EQ(round_trip(trees), "");
  });
}

TEST(DiffRoundTrip, GivesAnyTreeOutOfAnyOther) {
  for_each_seed(15, [](std::uint64_t seed) {
    Trees trees;
    make_random(trees.lower, seed, 60);
    make_random(trees.upper, seed + 1'000'000, 60);

    EXPECT_EQ(round_trip(trees), "");
  });
}

TEST(DiffRoundTrip, GivesAWholeTreeOutOfNothing) {
  for_each_seed(10, [](std::uint64_t seed) {
    Trees trees;
    make_tree(trees.lower, "");
    make_random(trees.upper, seed, 150);

    EXPECT_EQ(round_trip(trees), "");
  });
}

TEST(DiffRoundTrip, FindsNothingLeftAfterIt) {
  for_each_seed(10, [](std::uint64_t seed) {
    Trees trees;
    make_random(trees.lower, seed, 60);
    ASSERT_TRUE(copy::dir_copy(trees.lower, trees.upper, {}));
    change_tree(trees.upper, seed, 20, what_may_be());
    ASSERT_EQ(round_trip(trees), "");

    Trees again;
    ASSERT_TRUE(copy::dir_copy(trees.temp.path("made"), again.lower, {}));
    ASSERT_TRUE(copy::dir_copy(trees.upper, again.upper, {}));
    EXPECT_EQ(write(again), "");
    EXPECT_EQ(again.tar, std::string(1024, '\0'));
  });
}

// The same trees made in another order, elsewhere, at another time.
TEST(DiffRoundTrip, WritesTheSameBytesForTheSameTrees) {
  for_each_seed(15, [](std::uint64_t seed) {
    Trees trees;
    make_random(trees.lower, seed, 80);
    ASSERT_TRUE(copy::dir_copy(trees.lower, trees.upper, {}));
    change_tree(trees.upper, seed, 30, what_may_be());
    ASSERT_EQ(write(trees), "");

    Trees others;
    ASSERT_TRUE(copy::dir_copy(trees.upper, others.upper, {}));
    ASSERT_TRUE(copy::dir_copy(trees.lower, others.lower, {}));
    ASSERT_EQ(write(others), "");
    EXPECT_TRUE(others.tar == trees.tar);
  });
}

}  // namespace
}  // namespace lamina::archive
