#include "cli/apply_request.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace lamina::cli {
namespace {

ApplyWords words() {
  ApplyWords out;
  out.layer = "layer.tar";
  out.root = "root";
  return out;
}

std::string refusal(const ApplyWords& given) {
  auto options = parse_apply(given);
  return options ? "accepted" : options.error();
}

TEST(ApplyRequest, AsksForTheDefaultsWhenNothingIsGiven) {
  auto options = parse_apply(words());

  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->whiteouts, archive::Whiteouts::remove);
  EXPECT_EQ(options->owner, copy::Owner::keep);
  EXPECT_EQ(options->xattrs, copy::Xattrs::image);
  EXPECT_EQ(options->loss, copy::Loss::refused);
  EXPECT_EQ(options->leftovers, copy::Leftovers::removed);
  EXPECT_EQ(options->strip, 0U);
  EXPECT_FALSE(options->expect_diff_id);
  EXPECT_FALSE(options->expect_digest);
  EXPECT_EQ(options->max_bytes, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(options->max_entries, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(options->max_ratio, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(options->window_log, archive::kWindowLog);
  EXPECT_EQ(options->workers, 0U);
}

TEST(ApplyRequest, TakesEveryWord) {
  ApplyWords given = words();
  given.whiteouts = "overlay";
  given.expect_diff_id = archive::Digest{{1}}.text();
  given.expect_digest = archive::Digest{{2}}.text();
  given.uid_map = "0:100000:65536";
  given.gid_map = "0:5:1";
  given.owner = "mapped";
  given.xattrs = "none";
  given.strip = "2";
  given.max_size = "2G";
  given.max_entries = "1000";
  given.max_ratio = "50";
  given.max_window = "8M";
  given.workers = "3";
  given.best_effort = true;
  given.keep_partial = true;

  auto options = parse_apply(given);

  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->whiteouts, archive::Whiteouts::overlay);
  EXPECT_EQ(options->expect_diff_id, archive::Digest{{1}});
  EXPECT_EQ(options->expect_digest, archive::Digest{{2}});
  EXPECT_EQ(options->uid_map.to_string(), given.uid_map);
  EXPECT_EQ(options->gid_map.to_string(), given.gid_map);
  EXPECT_EQ(options->owner, copy::Owner::mapped);
  EXPECT_EQ(options->xattrs, copy::Xattrs::none);
  EXPECT_EQ(options->strip, 2U);
  EXPECT_EQ(options->max_bytes, uint64_t{2} << 30);
  EXPECT_EQ(options->max_entries, 1000U);
  EXPECT_EQ(options->max_ratio, 50U);
  EXPECT_EQ(options->window_log, 23);
  EXPECT_EQ(options->workers, 3U);
  EXPECT_EQ(options->loss, copy::Loss::forgiven);
  EXPECT_EQ(options->leftovers, copy::Leftovers::kept);
}

TEST(ApplyRequest, RefusesUnknownWordsAndNamesTheKnown) {
  ApplyWords given = words();
  given.whiteouts = "al\nl";
  EXPECT_EQ(refusal(given),
            "--whiteouts 'al\\nl': it is one of remove, overlay, keep, none");
  given = words();
  given.expect_digest = "sha256:AA";
  EXPECT_EQ(refusal(given),
            "--expect-digest 'sha256:AA': it is sha256: and 64 lower-case "
            "hexadecimal digits");
  given = words();
  given.expect_diff_id = "x";
  EXPECT_TRUE(refusal(given).starts_with("--expect-diff-id 'x': "));
}

TEST(ApplyRequest, RefusesNumbersThatAreNone) {
  for (const char* window : {"3M", "512", "4G", "0", "x"}) {
    ApplyWords given = words();
    given.max_window = window;
    EXPECT_TRUE(refusal(given).starts_with("--max-window ")) << window;
  }
  ApplyWords given = words();
  given.strip = "1025";
  EXPECT_EQ(refusal(given), "--strip '1025': it is a number from 0 to 1024");
  given = words();
  given.max_ratio = "0";
  EXPECT_EQ(refusal(given), "--max-ratio '0': it is a number from 1 up");
  given = words();
  given.max_entries = "-1";
  EXPECT_TRUE(refusal(given).starts_with("--max-entries "));
}

TEST(ApplyRequest, RefusesContradictions) {
  ApplyWords given = words();
  given.owner = "none";
  given.uid_map = "0:1:1";
  EXPECT_EQ(refusal(given),
            "--uid-map and --gid-map mean --owner mapped, not --owner none");
  given = words();
  given.lower = {"base"};
  EXPECT_EQ(refusal(given),
            "--lower goes with --whiteouts overlay, keep or none");
  given.whiteouts = "keep";
  EXPECT_EQ(refusal(given), "accepted");
  given = words();
  given.root.clear();
  EXPECT_EQ(refusal(given), "what to apply and ROOT must not be empty");
}

}  // namespace
}  // namespace lamina::cli
