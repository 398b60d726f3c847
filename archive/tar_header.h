// One 512-byte block of a tar as a header: its checksum, its format, its
// fields.
//
// Knows nothing of what lies around the block. Strings are slices of it. The
// layout is that of pax(1p), of GNU tar's manual ("Basic Tar Format") and of
// star(5). Pure functions, free for any thread; errors name no entry, that is
// the reader's part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.h"

namespace lamina::archive {

inline constexpr size_t kTarBlock = 512;

// The error of a tar that is not what it should be.
Error malformed_tar(std::string_view why);

enum class TarFormat { v7, ustar, gnu, star };

struct TarHeader {
  TarFormat format = TarFormat::v7;
  char type = '\0';
  std::string_view name;
  // What goes before the name, with a slash between; may be empty.
  std::string_view prefix;
  std::string_view link;
  int64_t size = 0;
};

// What of a header matters only for an entry, not for the meta headers before.
struct TarAttributes {
  int64_t mode = 0;
  int64_t uid = 0;
  int64_t gid = 0;
  int64_t mtime = 0;
  std::optional<int64_t> atime;
};

// The largest device numbers of Linux, makedev(3).
inline constexpr uint32_t kMajorMost = 4095;
inline constexpr uint32_t kMinorMost = (1U << 20) - 1;

struct DeviceNumber {
  uint32_t major = 0;
  uint32_t minor = 0;
};

bool is_zero_block(std::string_view block);

// Reads a numeric field. Leading spaces and NULs are skipped; octal digits end
// at a space, a NUL or the end of the field; nothing at all is 0. With the high
// bit of the first byte set it is base-256, most significant byte first, two's
// complement, where bit 0x40 is the sign (GNU tar's manual, "Extensions").
// Fails on another character, and on what 64 bits cannot hold.
Result<int64_t> parse_tar_number(std::string_view field);

// Reads the block's format, type, names and size. The checksum may be the sum
// of signed or unsigned bytes: some old tars used signed ones. Fails when it
// does not match, and on a size that is negative or no number.
Result<TarHeader> parse_tar_header(std::string_view block);

// Reads the other fields of a block that parse_tar_header() accepted.
Result<TarAttributes> parse_tar_attributes(std::string_view block,
                                           const TarHeader& header);

// Reads the device fields. Fails beyond kMajorMost and kMinorMost.
Result<DeviceNumber> parse_tar_device(std::string_view block);

}  // namespace lamina::archive
