#include "archive/base64.h"

#include <gtest/gtest.h>

namespace lamina::archive {
namespace {

TEST(Base64, DecodesWhatAnEncoderGives) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("Zg=="), "f");
  EXPECT_EQ(decode_base64("YWI="), "ab");
  EXPECT_EQ(decode_base64("Zm9v"), "foo");
  EXPECT_EQ(decode_base64("+/8="), "\xfb\xff");
  EXPECT_EQ(decode_base64("AAH/"), std::string("\0\1\xff", 3));
}

TEST(Base64, EncodesWhatItDecodes) {
  for (const char* text : {"", "Zg==", "YWI=", "Zm9v", "+/8=", "AAH/"}) {
    EXPECT_EQ(encode_base64(*decode_base64(text)), text);
  }
}

TEST(Base64, RefusesAllElse) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zg===", "=", "==", "====", "Z===", "Zm9v\n", "Zm 9v",
        "Zh==", "Zm9=", "Zg==Zg==", "Zm-_", "\xff\xff\xff\xff"}) {
    EXPECT_EQ(decode_base64(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace lamina::archive
