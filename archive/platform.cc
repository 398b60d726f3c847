#include "archive/platform.h"

#include <sys/utsname.h>

#include <algorithm>

namespace lamina::archive {

namespace {

struct Machine {
  std::string_view name;
  std::string_view architecture;
  std::string_view variant;
};

constexpr Machine kMachines[] = {
    {"x86_64", "amd64", ""},
    {"aarch64", "arm64", ""},
    {"armv7l", "arm", "v7"},
    {"armv6l", "arm", "v6"},
    {"armv5tel", "arm", "v5"},
    {"i686", "386", ""},
    {"i586", "386", ""},
    {"i386", "386", ""},
    {"ppc64le", "ppc64le", ""},
    {"s390x", "s390x", ""},
    {"riscv64", "riscv64", ""},
    {"mips64", "mips64le", ""},
    {"loongarch64", "loong64", ""},
};

// The variant that is meant where none is written.
std::string_view usual_variant(const Platform& platform) {
  if (!platform.variant.empty()) {
    return platform.variant;
  }
  if (platform.architecture == "arm64") {
    return "v8";
  }
  return platform.architecture == "arm" ? "v7" : "";
}

bool is_word(std::string_view part) {
  constexpr std::string_view kOther = "._";
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [kOther](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') ||
                  kOther.find(c) != std::string_view::npos;
         });
}

}  // namespace

std::string Platform::text() const {
  return os + "/" + architecture + (variant.empty() ? "" : "/" + variant);
}

Result<Platform> Platform::parse(std::string_view text) {
  Platform out;
  std::string* parts[] = {&out.os, &out.architecture, &out.variant};
  size_t count = 0;
  for (std::string_view rest = text;;) {
    size_t slash = rest.find('/');
    std::string_view part = rest.substr(0, slash);
    if (count == std::size(parts) || !is_word(part)) {
      return fail(make_error(0, "read platform", text,
                             "want OS/ARCHITECTURE or "
                             "OS/ARCHITECTURE/VARIANT"));
    }
    *parts[count++] = std::string(part);
    if (slash == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(slash + 1);
  }
  if (count < 2) {
    return fail(make_error(0, "read platform", text,
                           "want OS/ARCHITECTURE or "
                           "OS/ARCHITECTURE/VARIANT"));
  }
  return out;
}

Platform platform_of_machine(std::string_view machine) {
  for (const Machine& known : kMachines) {
    if (known.name == machine) {
      return {"linux", std::string(known.architecture),
              std::string(known.variant)};
    }
  }
  return {"linux", std::string(machine), ""};
}

Platform host_platform() {
  struct utsname name {};
  return platform_of_machine(::uname(&name) == 0 ? name.machine : "unknown");
}

int fitness(const Platform& wanted, const Platform& offered) {
  if (wanted.os != offered.os || wanted.architecture != offered.architecture) {
    return 0;
  }
  std::string_view want = usual_variant(wanted);
  std::string_view have = usual_variant(offered);
  if (want == have) {
    return 100;
  }
  // A newer ARM runs what was made for an older: v7 takes v6 before v5.
  if (wanted.architecture == "arm") {
    return have < want && have.size() == 2 ? have[1] - '0' : 0;
  }
  return wanted.variant.empty() || offered.variant.empty() ? 50 : 0;
}

}  // namespace lamina::archive
