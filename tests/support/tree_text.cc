#include "tests/support/tree_text.h"

#include <sys/sysmacros.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <set>

#include "tests/support/descriptor.h"

namespace lamina::test {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// A xattr name ends at the first '=', so it may not hold one itself.
std::string escape_key(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    out += c == '=' ? std::string("\\x3d") : escape(std::string_view(&c, 1));
  }
  return out;
}

template <typename Number>
Number number(std::string_view text, int base = 10) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [last, code] = std::from_chars(text.data(), end, value, base);
  if (code != std::errc() || last != end) {
    throw SupportError("not a number: '" + escape(text) + "'");
  }
  return value;
}

std::pair<std::string_view, std::string_view> halves(std::string_view text,
                                                     char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) {
    throw SupportError(std::string("no '") + separator + "' in '" +
                       escape(text) + "'");
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

timespec parse_time(std::string_view text) {
  if (text.find('.') == std::string_view::npos) {
    return {.tv_sec = number<std::int64_t>(text), .tv_nsec = 0};
  }
  const auto [seconds, nanoseconds] = halves(text, '.');
  if (nanoseconds.size() != 9) {
    throw SupportError("nine digits after the dot, please: '" + escape(text) +
                       "'");
  }
  return {.tv_sec = number<std::int64_t>(seconds),
          .tv_nsec = number<std::int32_t>(nanoseconds)};
}

std::string format_time(const timespec& time) {
  std::array<char, 48> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%lld.%09ld",
                static_cast<long long>(time.tv_sec), time.tv_nsec);
  return buffer.data();
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_data(
    std::string_view text) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> data;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto [offset, length] = halves(text.substr(0, comma), '+');
    data.emplace_back(number<std::uint64_t>(offset),
                      number<std::uint64_t>(length));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  return data;
}

void parse_field(Node& node, std::string_view key, std::string_view value) {
  constexpr std::string_view kXattr = "xattr:";
  if (key == "mode") {
    node.mode = number<mode_t>(value, 8);
  } else if (key == "owner") {
    const auto [uid, gid] = halves(value, ':');
    node.owner = {number<uid_t>(uid), number<gid_t>(gid)};
  } else if (key == "mtime") {
    node.mtime = parse_time(value);
  } else if (key == "atime") {
    node.atime = parse_time(value);
  } else if (key == "size") {
    node.size = number<std::uint64_t>(value);
  } else if (key == "text") {
    node.text = unescape(value);
  } else if (key == "fill") {
    node.fill = number<std::uint64_t>(value);
  } else if (key == "data") {
    node.data = parse_data(value);
  } else if (key == "digest") {
    node.digest = std::string(value);
  } else if (key == "dev") {
    const auto [major_text, minor_text] = halves(value, ':');
    node.device =
        makedev(number<unsigned>(major_text), number<unsigned>(minor_text));
  } else if (key == "link") {
    node.link = number<unsigned>(value);
  } else if (key.starts_with(kXattr)) {
    node.xattrs[unescape(key.substr(kXattr.size()))] = unescape(value);
  } else {
    throw SupportError("unknown field '" + escape(key) + "'");
  }
}

std::string_view next_word(std::string_view& rest) {
  const std::size_t begin = rest.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return rest = "";
  const std::size_t end = rest.find_first_of(" \t", begin);
  const std::string_view word = rest.substr(begin, end - begin);
  rest = end == std::string_view::npos ? "" : rest.substr(end);
  return word;
}

}  // namespace

std::string escape(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7f && c != '\\') {
      out += c;
    } else {
      out += "\\x";
      out += kHexDigits[byte >> 4U];
      out += kHexDigits[byte & 15U];
    }
  }
  return out;
}

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
    } else if (text.substr(i).size() >= 4 && text[i + 1] == 'x') {
      out += static_cast<char>(number<std::uint8_t>(text.substr(i + 2, 2), 16));
      i += 3;
    } else {
      throw SupportError("bad escape in '" + std::string(text) + "'");
    }
  }
  return out;
}

Node parse_node(std::string_view line) {
  static const std::set<std::string_view> kKinds = {
      "dir", "file", "symlink", "fifo", "socket", "char", "block"};
  Node node;
  node.kind = next_word(line);
  if (!kKinds.contains(node.kind)) {
    throw SupportError("unknown kind '" + escape(node.kind) + "'");
  }
  node.path = unescape(next_word(line));
  if (node.path.empty())
    throw SupportError("a line without a path");
  for (std::string_view word = next_word(line); !word.empty();
       word = next_word(line)) {
    if (word == "->") {
      node.target = unescape(next_word(line));
    } else {
      const auto [key, value] = halves(word, '=');
      parse_field(node, key, value);
    }
  }
  return node;
}

std::string format_node(const Node& node) {
  std::string out = node.kind + " " + escape(node.path);
  const auto field = [&out](std::string_view key, const std::string& value) {
    out.append(" ").append(key).append("=").append(value);
  };
  if (!node.target.empty())
    out += " -> " + escape(node.target);
  if (node.link)
    field("link", std::to_string(*node.link));
  if (node.mode) {
    std::array<char, 16> octal{};
    std::snprintf(octal.data(), octal.size(), "%04o", *node.mode);
    field("mode", octal.data());
  }
  if (node.owner) {
    field("owner", std::to_string(node.owner->first) + ":" +
                       std::to_string(node.owner->second));
  }
  if (node.device) {
    field("dev", std::to_string(major(*node.device)) + ":" +
                     std::to_string(minor(*node.device)));
  }
  if (node.size)
    field("size", std::to_string(*node.size));
  if (node.text)
    field("text", escape(*node.text));
  if (node.fill)
    field("fill", std::to_string(*node.fill));
  if (node.digest)
    field("digest", *node.digest);
  std::string data;
  for (const auto& [offset, length] : node.data) {
    data += data.empty() ? "" : ",";
    data += std::to_string(offset) + "+" + std::to_string(length);
  }
  if (!data.empty())
    field("data", data);
  if (node.mtime)
    field("mtime", format_time(*node.mtime));
  if (node.atime)
    field("atime", format_time(*node.atime));
  for (const auto& [name, value] : node.xattrs) {
    field("xattr:" + escape_key(name), escape(value));
  }
  return out;
}

}  // namespace lamina::test
