#include "cli/batch_manifest.h"

#include <charconv>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "archive/base64.h"

namespace lamina::cli {

namespace {

constexpr mode_t kMostMode = 07777;

std::optional<mode_t> parse_octal(std::string_view text) {
  unsigned mode = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), mode, 8);
  if (text.empty() || error != std::errc{} ||
      end != text.data() + text.size() || mode > kMostMode) {
    return std::nullopt;
  }
  return mode;
}

// Receives the parser's events and turns them into outputs. Only what an output
// may be is accepted, so that nesting never grows.
class Reader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Reader(Manifest& manifest, const ManifestLimits& limits)
      : manifest_(manifest),
        limits_(limits) {}

  // Whether outputs come in one array, or each by itself.
  enum class Form { array, line };
  void expect(Form form) {
    form_ = form;
    depth_ = 0;
    ended_ = false;
  }

  bool null() override { return refuse("null where it cannot be"); }
  bool boolean(bool /*value*/) override {
    return refuse("a truth value where it cannot be");
  }
  bool number_integer(number_integer_t /*value*/) override {
    return refuse("a number below zero");
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (!in_output() || key_ != "mode") {
      return refuse("a number where it cannot be");
    }
    if (value > kMostMode) {
      return refuse("a mode above 4095, which is octal 7777");
    }
    output_.mode = static_cast<mode_t>(value);
    return true;
  }
  bool number_float(number_float_t /*value*/,
                    const string_t& /*text*/) override {
    return refuse("a number that is not whole");
  }
  bool binary(binary_t& /*value*/) override {
    return refuse("binary data where it cannot be");
  }

  bool string(string_t& value) override {
    if (!in_output()) {
      return refuse("a string where an output is due");
    }
    bytes_ += value.size();
    if (bytes_ > limits_.bytes) {
      return refuse("the outputs are too large together");
    }
    return take(value);
  }

  bool key(string_t& value) override {
    key_ = std::move(value);
    bool* given = key_ == "path" || key_ == "path_b64" ? &has_path_
                  : key_ == "data" || key_ == "data_b64" || key_ == "from"
                      ? &has_content_
                  : key_ == "mode" ? &has_mode_
                                   : nullptr;
    if (given == nullptr) {
      return refuse("an unknown key");
    }
    if (std::exchange(*given, true)) {
      return refuse(given == &has_path_      ? "a second path"
                    : given == &has_content_ ? "a second content"
                                             : "a second mode");
    }
    return true;
  }

  bool start_object(std::size_t /*elements*/) override {
    if (depth_ != (form_ == Form::array ? 1 : 0)) {
      return refuse("an object where it cannot be");
    }
    if (manifest_.outputs.size() == limits_.outputs) {
      return refuse("too many outputs");
    }
    ++depth_;
    output_ = {};
    has_path_ = has_content_ = has_mode_ = false;
    return true;
  }
  bool end_object() override {
    --depth_;
    if (!has_path_ || !has_content_) {
      return refuse(has_path_ ? "no data, data_b64 or from"
                              : "no path or path_b64");
    }
    manifest_.outputs.push_back(std::move(output_));
    return true;
  }
  bool start_array(std::size_t /*elements*/) override {
    if (form_ != Form::array || depth_ != 0) {
      return refuse("an array where it cannot be");
    }
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    return refuse(std::string("not JSON: ") + error.what());
  }

  bool refuse(std::string text) {
    if (!manifest_.fault) {
      manifest_.fault = {manifest_.outputs.size(), std::move(text)};
    }
    return false;
  }

 private:
  bool in_output() const { return depth_ == (form_ == Form::array ? 2U : 1U); }

  // The value of key_, which is known.
  bool take(string_t& value) {
    if (key_ == "path") {
      output_.path = std::move(value);
    } else if (key_ == "data") {
      output_.data = std::move(value);
    } else if (key_ == "from") {
      if (value.empty()) {
        return refuse("an empty from");
      }
      output_.from = std::move(value);
    } else if (key_ == "mode") {
      output_.mode = parse_octal(value);
      return output_.mode || refuse("a mode that is not octal, 0 to 7777");
    } else {
      std::optional<std::string> bytes = archive::decode_base64(value);
      if (!bytes) {
        return refuse(key_ + " is not base64");
      }
      (key_ == "path_b64" ? output_.path : output_.data) = std::move(*bytes);
    }
    return true;
  }

  Manifest& manifest_;
  const ManifestLimits& limits_;
  Form form_ = Form::array;
  unsigned depth_ = 0;
  bool ended_ = false;
  uint64_t bytes_ = 0;
  std::string key_;
  ManifestOutput output_;
  bool has_path_ = false;
  bool has_content_ = false;
  bool has_mode_ = false;
};

constexpr std::string_view kBlanks = " \t\r\n";

}  // namespace

std::vector<copy::BatchEntry> Manifest::entries() const {
  std::vector<copy::BatchEntry> out;
  out.reserve(outputs.size());
  for (const ManifestOutput& output : outputs) {
    copy::BatchEntry& entry = out.emplace_back();
    entry.path = output.path;
    entry.data = std::as_bytes(std::span(output.data));
    entry.from = output.from;
    entry.mode = output.mode;
  }
  return out;
}

Manifest read_manifest(std::istream& in, const ManifestLimits& limits) {
  Manifest manifest;
  Reader reader(manifest, limits);
  int first = in.peek();
  while (in && kBlanks.find(static_cast<char>(first)) != kBlanks.npos) {
    in.get();
    first = in.peek();
  }
  if (first == '[') {
    reader.expect(Reader::Form::array);
    nlohmann::json::sax_parse(in, &reader);
    return manifest;
  }
  if (first == std::char_traits<char>::eof()) {
    reader.refuse("the manifest is empty");
    return manifest;
  }
  for (std::string line; !manifest.fault && std::getline(in, line);) {
    if (line.find_first_not_of(kBlanks) != std::string::npos) {
      reader.expect(Reader::Form::line);
      nlohmann::json::sax_parse(line, &reader);
    }
  }
  return manifest;
}

}  // namespace lamina::cli
