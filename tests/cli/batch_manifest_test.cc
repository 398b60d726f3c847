#include "cli/batch_manifest.h"

#include <sstream>

#include <gtest/gtest.h>

namespace lamina::cli {
namespace {

Manifest read(const std::string& text, const ManifestLimits& limits = {}) {
  std::istringstream in(text);
  return read_manifest(in, limits);
}

// "INDEX: what is wrong", "" for nothing.
std::string fault_of(const std::string& text,
                     const ManifestLimits& limits = {}) {
  const Manifest manifest = read(text, limits);
  if (!manifest.fault)
    return "";
  EXPECT_EQ(manifest.fault->index, manifest.outputs.size());
  return std::to_string(manifest.fault->index) + ": " + manifest.fault->text;
}

TEST(BatchManifest, IsAnArrayOfOutputs) {
  const Manifest manifest = read(
      R"( [{"path": "a/b", "data": "text"},
           {"path_b64": "AP8=", "data_b64": "AAH/", "mode": "4755"},
           {"mode": 493, "from": "/x", "path": "c"}] )");

  ASSERT_FALSE(manifest.fault);
  ASSERT_EQ(manifest.outputs.size(), 3U);
  EXPECT_EQ(manifest.outputs[0].path, "a/b");
  EXPECT_EQ(manifest.outputs[0].data, "text");
  EXPECT_EQ(manifest.outputs[0].mode, std::nullopt);
  EXPECT_EQ(manifest.outputs[1].path, std::string("\0\xff", 2));
  EXPECT_EQ(manifest.outputs[1].data, std::string("\0\1\xff", 3));
  EXPECT_EQ(manifest.outputs[1].mode, mode_t{04755});
  EXPECT_EQ(manifest.outputs[2].from, "/x");
  EXPECT_EQ(manifest.outputs[2].mode, mode_t{0755});
}

TEST(BatchManifest, IsOneOutputALine) {
  const Manifest manifest = read(
      "\n{\"path\": \"a\", \"data\": \"1\"}\r\n\n"
      "  {\"path\": \"b\", \"data\": \"\"}");

  ASSERT_FALSE(manifest.fault);
  ASSERT_EQ(manifest.outputs.size(), 2U);
  EXPECT_EQ(manifest.outputs[1].path, "b");
}

TEST(BatchManifest, MayHoldNothing) {
  EXPECT_EQ(fault_of("[]"), "");
  EXPECT_EQ(fault_of(" "), "0: the manifest is empty");
}

TEST(BatchManifest, TakesAModeAsItselfOrAsOctalDigits) {
  for (const auto& [word, mode] : {std::pair{"420", 0644},
                                   {"0", 0},
                                   {"4095", 07777},
                                   {"\"644\"", 0644},
                                   {"\"0644\"", 0644},
                                   {"\"0\"", 0},
                                   {"\"7777\"", 07777}}) {
    const Manifest manifest = read(R"([{"path": "a", "data": "", "mode": )" +
                                   std::string(word) + "}]");
    ASSERT_FALSE(manifest.fault) << word;
    EXPECT_EQ(manifest.outputs[0].mode, static_cast<mode_t>(mode)) << word;
  }
  for (const char* word :
       {"4096", "-1", "1.5", "null", "true", "\"\"", "\"0o644\"", "\"648\"",
        "\"10000\"", "\" 644\"", "\"rw\"", "[]", "{}"}) {
    EXPECT_NE(fault_of(R"([{"path": "a", "data": "", "mode": )" +
                       std::string(word) + "}]"),
              "")
        << word;
  }
}

TEST(BatchManifest, RefusesWhatIsNoOutputAndSaysWhich) {
  const std::string good = R"({"path": "a", "data": ""},)";
  const auto second = [&](const std::string& output) {
    return fault_of("[" + good + output + "]");
  };

  EXPECT_EQ(second("{}"), "1: no path or path_b64");
  EXPECT_EQ(second(R"({"path": "b"})"), "1: no data, data_b64 or from");
  EXPECT_EQ(second(R"({"data": "b"})"), "1: no path or path_b64");
  EXPECT_EQ(second(R"({"path": "b", "path_b64": "", "data": ""})"),
            "1: a second path");
  EXPECT_EQ(second(R"({"path": "b", "path": "c", "data": ""})"),
            "1: a second path");
  EXPECT_EQ(second(R"({"path": "b", "data": "", "from": "x"})"),
            "1: a second content");
  EXPECT_EQ(second(R"({"path": "b", "data": "", "mod": 1})"),
            "1: an unknown key");
  EXPECT_EQ(second(R"({"path": "b", "data_b64": "?"})"),
            "1: data_b64 is not base64");
  EXPECT_EQ(second(R"({"path": "b", "from": ""})"), "1: an empty from");
  EXPECT_EQ(second(R"({"path": 1, "data": ""})"),
            "1: a number where it cannot be");
  EXPECT_EQ(second(R"({"path": ["b"], "data": ""})"),
            "1: an array where it cannot be");
  EXPECT_EQ(second(R"({"path": {"b": 1}, "data": ""})"),
            "1: an object where it cannot be");
  EXPECT_EQ(second(R"("b")"), "1: a string where an output is due");
  EXPECT_EQ(second("[]"), "1: an array where it cannot be");
  EXPECT_EQ(second("null"), "1: null where it cannot be");
}

TEST(BatchManifest, RefusesWhatIsNotJson) {
  for (const char* text :
       {"x", "[", "[{]", "[]x", "[{\"path\": \"a\", \"data\": \"\"}",
        "[{\"path\": \"\xff\", \"data\": \"\"}]",
        "[{\"path\": \"\\ud800\", \"data\": \"\"}]", "{\"path\": \"a\",\n",
        "{\"path\": \"a\", \"data\": \"\"} {\"path\": \"b\", \"data\": \"\"}",
        "{\"path\": \"a\", \"data\": \"\"}\n[]"}) {
    EXPECT_NE(fault_of(text), "") << text;
  }
}

TEST(BatchManifest, DoesNotFollowNestingDown) {
  const std::string deep(1'000'000, '[');

  EXPECT_EQ(fault_of(deep), "0: an array where it cannot be");
  EXPECT_EQ(fault_of("{\"path\": " + deep), "0: an array where it cannot be");
}

TEST(BatchManifest, IsLimited) {
  const std::string two =
      R"([{"path": "a", "data": "12345"}, {"path": "b", "data": "12345"}])";

  EXPECT_EQ(fault_of(two, {.outputs = 2, .bytes = 12}), "");
  EXPECT_EQ(fault_of(two, {.outputs = 1, .bytes = 12}), "1: too many outputs");
  EXPECT_EQ(fault_of(two, {.outputs = 2, .bytes = 11}),
            "1: the outputs are too large together");
}

TEST(BatchManifest, KeepsWhatCameBeforeAFault) {
  const Manifest manifest = read("{\"path\": \"a\", \"data\": \"1\"}\nx\n");

  ASSERT_TRUE(manifest.fault);
  EXPECT_EQ(manifest.fault->index, 1U);
  ASSERT_EQ(manifest.outputs.size(), 1U);
  EXPECT_EQ(manifest.entries()[0].path, "a");
}

}  // namespace
}  // namespace lamina::cli
