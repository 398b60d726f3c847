// What an image runs on, and which of several fits best.
//
// A value and pure functions; host_platform() asks the kernel.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace lamina::archive {

// In Go's words, as the OCI image index has them.
struct Platform {
  std::string os;
  std::string architecture;
  std::string variant;  // May be empty.

  // "linux/arm/v7".
  std::string text() const;
  // Fails unless there are two or three parts of letters, digits, "." and "_".
  static Result<Platform> parse(std::string_view text);

  friend bool operator==(const Platform&, const Platform&) = default;
};

// What this machine is.
Platform host_platform();

// The same of what uname(2) calls the machine: "x86_64" -> linux/amd64.
Platform platform_of_machine(std::string_view machine);

// How well an image for `offered` runs where `wanted` is asked for: 0 not at
// all; the highest is the best.
int fitness(const Platform& wanted, const Platform& offered);

}  // namespace lamina::archive
