#include "archive/link_groups.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"

namespace lamina::archive {
namespace {

using Equal = LinkGroups::Equal;
using Do = LinkGroups::Verdict::Do;

struct stat inode(ino_t number, nlink_t links) {
  struct stat stat {};
  stat.st_dev = 1;
  stat.st_ino = number;
  stat.st_nlink = links;
  return stat;
}

class LinkGroupsOf : public ::testing::Test {
 protected:
  // "-" for nothing, "write [of NAME...]" with the names to be linked to it, or
  // "link NAME".
  std::string note(const std::string& name, const struct stat& upper,
                   const struct stat* lower, Equal equal) {
    auto verdict = groups_.note({root_, name}, upper, lower, equal);
    switch (verdict.what) {
      case Do::nothing:
        return "-";
      case Do::link:
        return "link " + verdict.link.path();
      case Do::write:
        break;
    }
    std::string out = "write";
    for (const auto& place : verdict.relink) {
      out += " " + place.path();
    }
    return out;
  }
  std::string same(const std::string& name, const struct stat& upper,
                   const struct stat& lower) {
    return note(name, upper, &lower, Equal::yes);
  }
  std::string fresh(const std::string& name, const struct stat& upper) {
    return note(name, upper, nullptr, Equal::no);
  }

  std::shared_ptr<copy::Dir> root_ = std::make_shared<copy::Dir>(nullptr, "");
  LinkGroups groups_;
};

TEST_F(LinkGroupsOf, ANewInodeIsItsFirstNameAndLinksToIt) {
  EXPECT_EQ(fresh("a", inode(1, 3)), "write");
  EXPECT_EQ(fresh("b", inode(1, 3)), "link a");
  EXPECT_EQ(fresh("c", inode(1, 3)), "link a");
  EXPECT_EQ(groups_.size(), 0U) << "all names were seen";
}

TEST_F(LinkGroupsOf, AnInodeWithTheSameNamesStays) {
  EXPECT_EQ(same("a", inode(1, 2), inode(9, 2)), "-");
  EXPECT_EQ(same("b", inode(1, 2), inode(9, 2)), "-");
  EXPECT_EQ(groups_.size(), 0U);
}

TEST_F(LinkGroupsOf, AnInodeWithANameLessStays) {
  EXPECT_EQ(same("a", inode(1, 2), inode(9, 3)), "-");
  EXPECT_EQ(same("c", inode(1, 2), inode(9, 3)), "-");
}

TEST_F(LinkGroupsOf, ANewNameTakesTheUnchangedOnesAlong) {
  EXPECT_EQ(same("a", inode(1, 4), inode(9, 3)), "-");
  EXPECT_EQ(same("b", inode(1, 4), inode(9, 3)), "-");
  EXPECT_EQ(fresh("c", inode(1, 4)), "write a b");
  EXPECT_EQ(same("d", inode(1, 4), inode(9, 3)), "link c");
}

TEST_F(LinkGroupsOf, ANewNameThatComesFirstTakesThemAlongToo) {
  EXPECT_EQ(fresh("a", inode(1, 2)), "write");
  EXPECT_EQ(same("b", inode(1, 2), inode(9, 1)), "link a");
}

TEST_F(LinkGroupsOf, NamesThatWereTwoInodesAndAreOneAreWritten) {
  EXPECT_EQ(same("a", inode(1, 2), inode(8, 1)), "-");
  EXPECT_EQ(same("b", inode(1, 2), inode(9, 1)), "write a");
}

TEST_F(LinkGroupsOf, NamesThatWereOneInodeAndAreTwoAreParted) {
  EXPECT_EQ(same("a", inode(1, 1), inode(9, 2)), "-");
  EXPECT_EQ(same("b", inode(2, 1), inode(9, 2)), "write");
}

TEST_F(LinkGroupsOf, TheSecondHalfOfAPartedInodeStaysTogether) {
  EXPECT_EQ(same("a", inode(1, 2), inode(9, 4)), "-");
  EXPECT_EQ(same("b", inode(2, 2), inode(9, 4)), "write");
  EXPECT_EQ(same("c", inode(1, 2), inode(9, 4)), "-");
  EXPECT_EQ(same("d", inode(2, 2), inode(9, 4)), "link b");
}

TEST_F(LinkGroupsOf, AnInodeThatCouldNotStayLeavesItsPlaceToAnother) {
  EXPECT_EQ(same("a", inode(1, 2), inode(9, 3)), "-");
  EXPECT_EQ(fresh("b", inode(1, 2)), "write a");
  EXPECT_EQ(same("c", inode(2, 1), inode(9, 3)), "-");
}

TEST_F(LinkGroupsOf, InodesSharedByBothTreesAreForgottenAtOnce) {
  EXPECT_EQ(same("a", inode(1, 2), inode(1, 2)), "-");
  EXPECT_EQ(same("b", inode(2, 2), inode(2, 2)), "-");
  EXPECT_EQ(groups_.size(), 0U);
}

TEST_F(LinkGroupsOf, OneNumberOnTwoDevicesIsTwoInodes) {
  struct stat other = inode(1, 2);
  other.st_dev = 2;

  EXPECT_EQ(fresh("a", inode(1, 2)), "write");
  EXPECT_EQ(fresh("b", other), "write");
}

}  // namespace
}  // namespace lamina::archive
