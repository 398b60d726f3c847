#include "archive/tar_name.h"

#include <algorithm>

#include "archive/tar_header.h"

namespace lamina::archive {

namespace {

constexpr std::string_view kWhiteout = ".wh.";

// Takes the first component off `rest`, and the slash behind it.
std::string_view take_component(std::string_view& rest) {
  size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view component = rest.substr(0, slash);
  rest.remove_prefix(std::min(slash + 1, rest.size()));
  return component;
}

bool says_nothing(std::string_view component) {
  return component.empty() || component == ".";
}

// Strips what is in front and behind without a need to copy: "/", "./".
std::string_view trim(std::string_view name) {
  while (!name.empty()) {
    std::string_view rest = name;
    if (!says_nothing(take_component(rest))) {
      break;
    }
    name = rest;
  }
  while (name.ends_with('/') || name.ends_with("/.")) {
    name.remove_suffix(1);
  }
  return name;
}

Result<void> check_clean(std::string_view name, const NameLimits& limits) {
  if (name.size() > limits.path_bytes) {
    return fail(malformed_tar("the name is too long"));
  }
  size_t depth = 0;
  while (!name.empty()) {
    std::string_view component = take_component(name);
    size_t most = limits.component_bytes;
    most += component.starts_with(kWhiteout) ? kWhiteout.size() : 0;
    if (component.size() > most) {
      return fail(malformed_tar("a part of the name is too long"));
    }
    if (++depth > limits.depth) {
      return fail(malformed_tar("the name is too deep"));
    }
  }
  return {};
}

bool is_clean(std::string_view name) {
  while (!name.empty()) {
    std::string_view component = take_component(name);
    if (says_nothing(component) || component == "..") {
      return false;
    }
  }
  return true;
}

// The slow way, for names that need it.
Result<void> rewrite(std::string_view name, std::string& out) {
  out.clear();
  while (!name.empty()) {
    std::string_view component = take_component(name);
    if (says_nothing(component)) {
      continue;
    }
    if (component == "..") {
      if (out.empty()) {
        return fail(malformed_tar("the name leaves the root"));
      }
      size_t slash = out.rfind('/');
      out.resize(slash == std::string::npos ? 0 : slash);
      continue;
    }
    if (!out.empty()) {
      out += '/';
    }
    out += component;
  }
  return {};
}

}  // namespace

Result<std::string_view> clean_name(std::string_view name,
                                    const NameLimits& limits,
                                    std::string& scratch) {
  std::string_view clean = trim(name);
  if (!is_clean(clean)) {
    TRY(rewrite(clean, scratch));
    clean = scratch;
  }
  TRY(check_clean(clean, limits));
  return clean.empty() ? "." : clean;
}

}  // namespace lamina::archive
