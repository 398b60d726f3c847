#include "cli/copy_request.h"

#include <string>

#include <gtest/gtest.h>

namespace lamina::cli {
namespace {

CopyWords words() {
  CopyWords out;
  out.source = "src";
  out.destination = "dst";
  return out;
}

std::string refusal(const CopyWords& given) {
  auto options = parse_copy(given);
  return options ? "accepted" : options.error();
}

TEST(CopyRequest, AsksForTheDefaultsWhenNothingIsGiven) {
  auto options = parse_copy(words());

  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->sharing, copy::Sharing::automatic);
  EXPECT_EQ(options->strictness, copy::Strictness::fall_back);
  EXPECT_EQ(options->xattrs, copy::Xattrs::all);
  EXPECT_EQ(options->owner, copy::Owner::keep);
  EXPECT_EQ(options->loss, copy::Loss::refused);
  EXPECT_EQ(options->crossing, copy::Crossing::allowed);
  EXPECT_EQ(options->leftovers, copy::Leftovers::removed);
  EXPECT_FALSE(options->label);
  EXPECT_EQ(options->workers, 0U);
}

TEST(CopyRequest, TakesEveryWord) {
  CopyWords given = words();
  given.mode = "content";
  given.xattrs = "image";
  given.owner = "mapped";
  given.uid_map = "0:100000:65536";
  given.gid_map = "0:5:1,1:100:10";
  given.label = "system_u:object_r:container_file_t:s0";
  given.workers = "7";
  given.one_file_system = true;
  given.best_effort = true;
  given.keep_partial = true;

  auto options = parse_copy(given);

  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->sharing, copy::Sharing::content);
  EXPECT_EQ(options->xattrs, copy::Xattrs::image);
  EXPECT_EQ(options->owner, copy::Owner::mapped);
  EXPECT_EQ(options->uid_map.to_string(), given.uid_map);
  EXPECT_EQ(options->gid_map.to_string(), given.gid_map);
  EXPECT_EQ(options->label, given.label);
  EXPECT_EQ(options->workers, 7U);
  EXPECT_EQ(options->crossing, copy::Crossing::forbidden);
  EXPECT_EQ(options->loss, copy::Loss::forgiven);
  EXPECT_EQ(options->leftovers, copy::Leftovers::kept);
}

TEST(CopyRequest, TakesAMapForMappedOwners) {
  CopyWords given = words();
  given.gid_map = "0:1:1";

  auto options = parse_copy(given);

  ASSERT_TRUE(options) << options.error();
  EXPECT_EQ(options->owner, copy::Owner::mapped);
}

TEST(CopyRequest, RefusesUnknownWordsAndNamesTheKnown) {
  CopyWords given = words();
  given.mode = "side\nways";
  EXPECT_EQ(refusal(given),
            "--mode 'side\\nways': it is one of auto, reflink, hardlink, "
            "content");
  given = words();
  given.xattrs = "some";
  EXPECT_EQ(refusal(given), "--xattrs 'some': it is one of all, image, none");
  given = words();
  given.owner = "me";
  EXPECT_EQ(refusal(given), "--owner 'me': it is one of keep, mapped, none");
}

TEST(CopyRequest, RefusesMapsThatAreNone) {
  for (const char* map : {"0", "0:1", "0:x:1", "0:1:0", ":::", "0:1:1,"}) {
    CopyWords given = words();
    given.uid_map = map;
    EXPECT_TRUE(refusal(given).starts_with("--uid-map: ")) << map;
    given = words();
    given.gid_map = map;
    EXPECT_TRUE(refusal(given).starts_with("--gid-map: ")) << map;
  }
}

TEST(CopyRequest, RefusesContradictions) {
  CopyWords given = words();
  given.strict = true;
  given.best_effort = true;
  EXPECT_EQ(refusal(given), "--strict and --best-effort contradict each other");

  given = words();
  given.owner = "mapped";
  EXPECT_EQ(refusal(given),
            "--owner mapped needs --uid-map, --gid-map or both");

  for (const char* owner : {"keep", "none"}) {
    given = words();
    given.owner = owner;
    given.uid_map = "0:1:1";
    EXPECT_NE(refusal(given), "accepted") << owner;
  }

  given = words();
  given.mode = "hardlink";
  given.uid_map = "0:1:1";
  EXPECT_NE(refusal(given), "accepted");

  given = words();
  given.mode = "hardlink";
  given.label = "a:b:c";
  EXPECT_NE(refusal(given), "accepted");

  given = words();
  given.destination.clear();
  EXPECT_EQ(refusal(given), "SRC and DST must not be empty");
}

}  // namespace
}  // namespace lamina::cli
