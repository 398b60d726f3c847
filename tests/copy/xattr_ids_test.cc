// Owner ids inside attribute values.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "copy/xattrs.h"
#include "tests/copy/attribute_values.h"

namespace lamina::test {
namespace {

using copy::XattrRules;

class XattrIds : public testing::Test {
 protected:
  // The value of `name` with ids mapped.
  std::string mapped(const std::string& name, const std::string& value) {
    std::vector<char> bytes(value.begin(), value.end());
    const auto done = copy::map_xattr_ids(rules_, name, bytes);
    return done ? std::string(bytes.begin(), bytes.end())
                : done.error().message();
  }

  IdMap uids_ = IdMap::parse("0:100000:1000").value();
  IdMap gids_ = IdMap::parse("0:200000:1000").value();
  XattrRules rules_{.uid_map = &uids_, .gid_map = &gids_};
};

TEST_F(XattrIds, OfNamedUsersAndGroupsAreMappedEachByItsMap) {
  EXPECT_EQ(mapped(kAccessAcl, acl_for_user(5)), acl_for_user(100005));
  EXPECT_EQ(mapped(kDefaultAcl, acl_for_user(999)), acl_for_user(100999));
  EXPECT_EQ(mapped(kAccessAcl, acl_for_group(5)), acl_for_group(200005));
}

TEST_F(XattrIds, OfNobodyInParticularAreLeftAlone) {
  const std::string plain = acl({{AclEntry::owner, 6},
                                 {AclEntry::owning_group, 4},
                                 {AclEntry::other, 0}});

  EXPECT_EQ(mapped(kAccessAcl, plain), plain);
}

TEST_F(XattrIds, OfCapabilitiesAreTheirRoot) {
  EXPECT_EQ(mapped(kCapability, capability(7)), capability(100007));
  EXPECT_EQ(mapped(kCapability, capability()), capability());
}

TEST_F(XattrIds, InNoRangeAreAnErrorThatNamesThem) {
  EXPECT_EQ(mapped(kAccessAcl, acl_for_user(1000)),
            "map id in system.posix_acl_access: id 1000 is not in the map "
            "0:100000:1000: Invalid argument (EINVAL)");
  EXPECT_EQ(mapped(kCapability, capability(70000)).substr(0, 29),
            "map id in security.capability");
}

TEST_F(XattrIds, OfOtherAttributesAreNotLookedFor) {
  EXPECT_EQ(mapped("user.acl", acl_for_user(5)), acl_for_user(5));
  EXPECT_EQ(mapped("trusted.capability", capability(5)), capability(5));
}

TEST_F(XattrIds, OfValuesThatAreCutShortAreNotReadPastTheEnd) {
  const std::string whole = acl_for_user(5);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(mapped(kAccessAcl, whole.substr(0, size)).size(), size);
  EXPECT_EQ(mapped(kCapability, capability(5).substr(0, 23)),
            capability(5).substr(0, 23));
}

TEST_F(XattrIds, AreLeftAloneWhereNothingIsMapped) {
  rules_ = {};

  EXPECT_EQ(mapped(kAccessAcl, acl_for_user(70000)), acl_for_user(70000));
}

}  // namespace
}  // namespace lamina::test
