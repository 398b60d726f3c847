#include "copy/options.h"

#include <gtest/gtest.h>

namespace lamina::copy {
namespace {

TEST(Options, KnowTheWordsForSharing) {
  EXPECT_EQ(parse_sharing("auto"), Sharing::automatic);
  EXPECT_EQ(parse_sharing("reflink"), Sharing::reflink);
  EXPECT_EQ(parse_sharing("hardlink"), Sharing::hardlink);
  EXPECT_EQ(parse_sharing("content"), Sharing::content);
}

TEST(Options, KnowTheWordsForAttributesAndOwners) {
  EXPECT_EQ(parse_xattrs("all"), Xattrs::all);
  EXPECT_EQ(parse_xattrs("image"), Xattrs::image);
  EXPECT_EQ(parse_xattrs("none"), Xattrs::none);
  EXPECT_EQ(parse_owner("keep"), Owner::keep);
  EXPECT_EQ(parse_owner("mapped"), Owner::mapped);
  EXPECT_EQ(parse_owner("none"), Owner::none);
}

TEST(Options, KnowNoOtherWords) {
  for (const char* word : {"", "Auto", "auto ", "automatic", "reflink,auto"}) {
    EXPECT_FALSE(parse_sharing(word)) << word;
    EXPECT_FALSE(parse_xattrs(word)) << word;
    EXPECT_FALSE(parse_owner(word)) << word;
  }
}

TEST(Options, SayTheWordTheyWereGiven) {
  for (const char* word : {"auto", "reflink", "hardlink", "content"})
    EXPECT_EQ(to_string(*parse_sharing(word)), word);
}

TEST(Options, AreTheCarefulOnesByDefault) {
  const Options options;

  EXPECT_EQ(options.sharing, Sharing::automatic);
  EXPECT_EQ(options.xattrs, Xattrs::all);
  EXPECT_EQ(options.owner, Owner::keep);
  EXPECT_EQ(options.loss, Loss::refused);
  EXPECT_EQ(options.crossing, Crossing::allowed);
  EXPECT_EQ(options.leftovers, Leftovers::removed);
  EXPECT_EQ(options.workers, 0U);
}

}  // namespace
}  // namespace lamina::copy
