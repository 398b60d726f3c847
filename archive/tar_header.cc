#include "archive/tar_header.h"

#include <algorithm>
#include <limits>

namespace lamina::archive {

namespace {

using namespace std::string_view_literals;

struct Field {
  size_t at;
  size_t size;
};

constexpr Field kName = {0, 100};
constexpr Field kMode = {100, 8};
constexpr Field kUid = {108, 8};
constexpr Field kGid = {116, 8};
constexpr Field kSize = {124, 12};
constexpr Field kMtime = {136, 12};
constexpr Field kChecksum = {148, 8};
constexpr size_t kType = 156;
constexpr Field kLink = {157, 100};
constexpr Field kMagic = {257, 8};
constexpr Field kMajor = {329, 8};
constexpr Field kMinor = {337, 8};
constexpr Field kPrefix = {345, 155};
constexpr Field kStarPrefix = {345, 131};
constexpr Field kStarAtime = {476, 12};
constexpr Field kStarTrailer = {508, 4};
constexpr Field kGnuAtime = {345, 12};
constexpr Field kGnuCtime = {357, 12};

std::string_view raw(std::string_view block, Field field) {
  return block.substr(field.at, field.size);
}

// A string ends at its first NUL or with its field.
std::string_view string_in(std::string_view block, Field field) {
  std::string_view bytes = raw(block, field);
  return bytes.substr(0, bytes.find('\0'));
}

TarFormat format_of(std::string_view block) {
  std::string_view magic = raw(block, kMagic);
  if (magic == "ustar  \0"sv) {
    return TarFormat::gnu;
  }
  // The version behind it is "00", or spaces in some; nobody minds.
  if (magic.starts_with("ustar\0"sv)) {
    return raw(block, kStarTrailer) == "tar\0"sv ? TarFormat::star
                                                 : TarFormat::ustar;
  }
  return TarFormat::v7;
}

Result<int64_t> parse_base256(std::string_view field) {
  // Negative numbers are complemented on the way in and back at the end, so
  // that one loop sees positive ones only.
  const bool negative = (static_cast<unsigned char>(field[0]) & 0x40U) != 0;
  const unsigned flip = negative ? 0xFF : 0;
  constexpr auto kMost =
      static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  uint64_t number = 0;
  for (size_t i = 0; i < field.size(); ++i) {
    unsigned byte = static_cast<unsigned char>(field[i]) ^ flip;
    if (i == 0) {
      byte &= 0x7FU;
    }
    if (number > kMost >> 8U) {
      return fail(malformed_tar("a base-256 number needs more than 64 bits"));
    }
    number = number << 8U | byte;
  }
  auto result = static_cast<int64_t>(number);
  return negative ? ~result : result;
}

Result<void> check_sum(std::string_view block) {
  auto stored = parse_tar_number(raw(block, kChecksum));
  int64_t with_unsigned = 0;
  int64_t with_signed = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    bool own = i >= kChecksum.at && i < kChecksum.at + kChecksum.size;
    char c = own ? ' ' : block[i];
    with_unsigned += static_cast<unsigned char>(c);
    with_signed += static_cast<signed char>(c);
  }
  if (!stored || (*stored != with_unsigned && *stored != with_signed)) {
    return fail(malformed_tar("the checksum of a header does not match"));
  }
  return {};
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// GNU headers have times where ustar has the prefix. Go before 1.8 wrote the
// GNU magic with a ustar prefix: known by times that are no numbers.
bool has_gnu_times(std::string_view block) {
  return parse_tar_number(raw(block, kGnuAtime)).has_value() &&
         parse_tar_number(raw(block, kGnuCtime)).has_value();
}

std::string_view prefix_in(std::string_view block, TarFormat format) {
  std::string_view prefix;
  switch (format) {
    case TarFormat::ustar:
      return string_in(block, kPrefix);
    case TarFormat::star:
      return string_in(block, kStarPrefix);
    case TarFormat::gnu:
      prefix = string_in(block, kPrefix);
      if (!has_gnu_times(block) && is_ascii(prefix)) {
        return prefix;
      }
      return {};
    case TarFormat::v7:
      break;
  }
  return {};
}

Result<uint32_t> device_part(std::string_view field, int64_t most) {
  TRY_ASSIGN(int64_t number, parse_tar_number(field));
  if (number < 0 || number > most) {
    return fail(malformed_tar("a device number is out of range"));
  }
  return static_cast<uint32_t>(number);
}

}  // namespace

Error malformed_tar(std::string_view why) {
  return make_error(0, "read tar", "", why);
}

bool is_zero_block(std::string_view block) {
  return std::ranges::all_of(block, [](char c) { return c == '\0'; });
}

Result<int64_t> parse_tar_number(std::string_view field) {
  if (!field.empty() && (static_cast<unsigned char>(field[0]) & 0x80U) != 0) {
    return parse_base256(field);
  }
  size_t at = std::min(field.find_first_not_of(" \0"sv), field.size());
  int64_t number = 0;
  for (; at < field.size() && field[at] != ' ' && field[at] != '\0'; ++at) {
    if (field[at] < '0' || field[at] > '7') {
      return fail(malformed_tar("a numeric field is not octal"));
    }
    if (number > std::numeric_limits<int64_t>::max() >> 3) {
      return fail(malformed_tar("a number needs more than 64 bits"));
    }
    number = number * 8 + (field[at] - '0');
  }
  return number;
}

Result<TarHeader> parse_tar_header(std::string_view block) {
  TRY(check_sum(block));
  TarHeader header;
  header.format = format_of(block);
  header.type = block[kType];
  header.name = string_in(block, kName);
  header.prefix = prefix_in(block, header.format);
  header.link = string_in(block, kLink);
  TRY_ASSIGN(header.size, parse_tar_number(raw(block, kSize)));
  if (header.size < 0) {
    return fail(malformed_tar("the size is negative"));
  }
  return header;
}

Result<TarAttributes> parse_tar_attributes(std::string_view block,
                                           const TarHeader& header) {
  TarAttributes attributes;
  TRY_ASSIGN(attributes.mode, parse_tar_number(raw(block, kMode)));
  TRY_ASSIGN(attributes.uid, parse_tar_number(raw(block, kUid)));
  TRY_ASSIGN(attributes.gid, parse_tar_number(raw(block, kGid)));
  TRY_ASSIGN(attributes.mtime, parse_tar_number(raw(block, kMtime)));
  std::string_view atime;
  if (header.format == TarFormat::star) {
    atime = raw(block, kStarAtime);
  } else if (header.format == TarFormat::gnu && has_gnu_times(block)) {
    atime = raw(block, kGnuAtime);
  }
  if (!atime.empty() && atime[0] != '\0') {
    TRY_ASSIGN(attributes.atime, parse_tar_number(atime));
  }
  return attributes;
}

Result<DeviceNumber> parse_tar_device(std::string_view block) {
  DeviceNumber device;
  TRY_ASSIGN(device.major, device_part(raw(block, kMajor), kMajorMost));
  TRY_ASSIGN(device.minor, device_part(raw(block, kMinor), kMinorMost));
  return device;
}

}  // namespace lamina::archive
