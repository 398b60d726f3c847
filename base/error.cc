#include "base/error.h"

#include <cerrno>
#include <cstring>

#include "base/utf8.h"

namespace lamina {

namespace {

void append_hex(std::string& out, char c) {
  constexpr char kDigits[] = "0123456789abcdef";
  auto byte = static_cast<unsigned char>(c);
  out += "\\x";
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

}  // namespace

std::string escape_name(std::string_view name) {
  std::string out;
  out.reserve(name.size());
  for (size_t i = 0; i < name.size();) {
    char c = name[i];
    auto byte = static_cast<unsigned char>(c);
    size_t length = utf8_length(name.substr(i));
    // U+0080..U+009F are the C1 controls; terminals obey some of them.
    bool c1 = length == 2 && byte == 0xC2 &&
              static_cast<unsigned char>(name[i + 1]) < 0xA0;
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\\' || c == '\'') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7F || length == 0) {
      append_hex(out, c);
    } else if (c1) {
      append_hex(out, c);
      append_hex(out, name[i + 1]);
    } else {
      out.append(name.substr(i, length));
    }
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string Error::message() const {
  std::string out = op;
  if (!subject.empty()) {
    out += " on '" + escape_name(subject) + "'";
  }
  out += ": ";
  if (!text.empty()) {
    out += text;
  }
  if (code != 0) {
    const char* description = strerrordesc_np(code);
    const char* name = strerrorname_np(code);
    if (!text.empty()) {
      out += ": ";
    }
    out += description != nullptr ? description : "Unknown error";
    out += " (";
    out += name != nullptr ? name : std::to_string(code);
    out += ")";
  }
  return out;
}

Error last_error(std::string_view op, std::string_view subject) {
  return make_error(errno, op, subject);
}

Error make_error(int code, std::string_view op, std::string_view subject,
                 std::string_view text) {
  return Error{code, std::string(op), std::string(subject), std::string(text)};
}

bool is_exhaustion(int code) {
  return code == ENOSPC || code == EDQUOT || code == EMFILE || code == ENFILE ||
         code == ENOMEM;
}

}  // namespace lamina
