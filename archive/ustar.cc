#include "archive/ustar.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "archive/pax.h"
#include "archive/tar_header.h"
#include "base/utf8.h"

namespace lamina::archive {

namespace {

// Where the fields of a ustar header lie, pax(1p), "ustar Interchange Format".
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

// What readers take, ours too.
constexpr size_t kPaxBytes = size_t{1} << 20;
constexpr mode_t kModeBits = 07777;

Error refuse(std::string_view why) {
  return make_error(0, "", "", why);
}

// True for a name that stands in a ustar field as it is: ASCII, or bytes that
// mean no characters, which a PAX record could not hold (it is UTF-8;
// libarchive refuses others, and GNU tar warns about the record that would
// allow them).
bool is_plain(std::string_view text) {
  return !is_utf8(text) || std::ranges::all_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x80;
  });
}

bool is_device(EntryType type) {
  return type == EntryType::char_device || type == EntryType::block_device;
}

char type_flag(EntryType type) {
  switch (type) {
    case EntryType::file:
      return '0';
    case EntryType::hard_link:
      return '1';
    case EntryType::symlink:
      return '2';
    case EntryType::char_device:
      return '3';
    case EntryType::block_device:
      return '4';
    case EntryType::directory:
      return '5';
    case EntryType::fifo:
      return '6';
  }
  return '0';
}

// A 512-byte header under way.
class Block {
 public:
  void put(Field field, std::string_view text) {
    bytes_.replace(field.at, std::min(text.size(), field.size),
                   text.substr(0, field.size));
  }

  // Octal digits up to the last byte of the field, which stays NUL. False, and
  // zero, when the number does not fit.
  bool put_number(Field field, uint64_t number) {
    const size_t digits = field.size - 1;
    const bool fits = number >> (3 * digits) == 0;
    uint64_t rest = fits ? number : 0;
    for (size_t i = digits; i-- > 0; rest >>= 3U) {
      bytes_[field.at + i] = static_cast<char>('0' + (rest & 7U));
    }
    return fits;
  }

  void put_type(char type) { bytes_[kType] = type; }

  // Call when all else is in.
  std::string finish() {
    using namespace std::string_view_literals;
    put(kMagic,
        "ustar\0"
        "00"sv);
    put(kChecksum, "        "sv);
    uint64_t sum = 0;
    for (char c : bytes_) {
      sum += static_cast<unsigned char>(c);
    }
    // Six digits, NUL, space: as everybody writes it.
    put_number({.at = kChecksum.at, .size = kChecksum.size - 1}, sum);
    bytes_[kChecksum.at + kChecksum.size - 2] = '\0';
    return bytes_;
  }

 private:
  std::string bytes_ = std::string(kTarBlock, '\0');
};

// Puts a name into name and prefix. False when it does not fit; then a
// beginning of it is there for those who read no PAX.
bool put_name(Block& block, std::string_view name) {
  if (!is_plain(name)) {
    std::string plain(name.substr(0, kName.size));
    std::ranges::replace_if(
        plain, [](char c) { return static_cast<unsigned char>(c) >= 0x80; },
        '_');
    block.put(kName, plain);
    return false;
  }
  if (name.size() <= kName.size) {
    block.put(kName, name);
    return true;
  }
  // The last slash that leaves a prefix which fits: the shortest name, but one.
  size_t slash = name.rfind('/', kPrefix.size);
  if (slash == name.size() - 1) {
    slash = slash == 0 ? std::string_view::npos : name.rfind('/', slash - 1);
  }
  if (slash == std::string_view::npos || slash == 0 ||
      name.size() - slash - 1 > kName.size) {
    block.put(kName, name);
    return false;
  }
  block.put(kPrefix, name.substr(0, slash));
  block.put(kName, name.substr(slash + 1));
  return true;
}

bool put_link(Block& block, std::string_view link) {
  block.put(kLink, link);
  return link.size() <= kLink.size && is_plain(link);
}

using Records = std::map<std::string, std::string, std::less<>>;

Result<void> add_xattrs(const TarEntry& entry, Records& records) {
  for (const Xattr& xattr : entry.xattrs) {
    if (xattr.value.empty()) {
      return fail(refuse("PAX cannot say an attribute without a value"));
    }
    if (xattr.name.empty() || xattr.name.find('=') != std::string_view::npos ||
        xattr.name.find('\0') != std::string_view::npos) {
      return fail(refuse("PAX cannot say the name of an attribute"));
    }
    records["SCHILY.xattr." + std::string(xattr.name)] = xattr.value;
  }
  return {};
}

bool has_link(const TarEntry& entry) {
  return entry.type == EntryType::symlink || entry.type == EntryType::hard_link;
}

Result<void> check(const TarEntry& entry) {
  constexpr uid_t kNobodyAtAll = std::numeric_limits<uid_t>::max();
  if (entry.path.empty() || (has_link(entry) && entry.link.empty())) {
    return fail(refuse("an empty name"));
  }
  if (entry.path.find('\0') != std::string_view::npos ||
      entry.link.find('\0') != std::string_view::npos) {
    return fail(refuse("NUL in a name"));
  }
  if (entry.type != EntryType::directory && entry.path.ends_with('/')) {
    return fail(refuse("only the name of a directory can end in a slash"));
  }
  if (entry.type != EntryType::file && entry.size != 0) {
    return fail(refuse("only a file has a size"));
  }
  if (std::cmp_greater(entry.size, std::numeric_limits<int64_t>::max())) {
    return fail(refuse("the size is out of range"));
  }
  if (entry.uid == kNobodyAtAll || entry.gid == kNobodyAtAll) {
    return fail(refuse("an owner is out of range"));
  }
  if (is_device(entry.type) &&
      (entry.dev_major > kMajorMost || entry.dev_minor > kMinorMost)) {
    return fail(refuse("a device number is out of range"));
  }
  return {};
}

// Fills the block and says in `records` what did not fit.
void fill(const TarEntry& entry, Block& block, Records& records) {
  std::string path(entry.path);
  if (entry.type == EntryType::directory && !path.ends_with('/')) {
    path += '/';
  }
  if (!put_name(block, path)) {
    records["path"] = path;
  }
  if (has_link(entry) && !put_link(block, entry.link)) {
    records["linkpath"] = entry.link;
  }
  block.put_type(type_flag(entry.type));
  block.put_number(kMode, entry.mode & kModeBits);
  if (!block.put_number(kUid, entry.uid)) {
    records["uid"] = std::to_string(entry.uid);
  }
  if (!block.put_number(kGid, entry.gid)) {
    records["gid"] = std::to_string(entry.gid);
  }
  if (!block.put_number(kSize, entry.size)) {
    records["size"] = std::to_string(entry.size);
  }
  // A negative number is a large one here, and does not fit.
  const bool whole = entry.mtime.tv_nsec == 0;
  if (!block.put_number(kMtime, static_cast<uint64_t>(entry.mtime.tv_sec)) ||
      !whole) {
    records["mtime"] = format_pax_time(entry.mtime);
  }
  block.put_number(kMajor, is_device(entry.type) ? entry.dev_major : 0);
  block.put_number(kMinor, is_device(entry.type) ? entry.dev_minor : 0);
}

std::string pax_header(std::string_view path, std::string_view body) {
  Block block;
  // Readers show this name only where they know no PAX.
  std::string_view base =
      path.substr(path.find_last_of('/', path.size() - 2) + 1);
  put_name(block, "PaxHeaders/" + std::string(base.substr(0, 80)));
  block.put_number(kMode, 0644);
  block.put_number(kUid, 0);
  block.put_number(kGid, 0);
  block.put_number(kSize, body.size());
  block.put_number(kMtime, 0);
  block.put_number(kMajor, 0);
  block.put_number(kMinor, 0);
  block.put_type('x');
  return block.finish();
}

}  // namespace

Result<std::string> make_ustar_headers(const TarEntry& entry) {
  TRY(check(entry));
  Block block;
  Records records;
  fill(entry, block, records);
  TRY(add_xattrs(entry, records));
  std::string out;
  if (!records.empty()) {
    std::string body;
    for (const auto& [key, value] : records) {
      append_pax_record(body, key, value);
    }
    if (body.size() > kPaxBytes) {
      return fail(refuse("names and attributes are too long"));
    }
    out = pax_header(entry.path, body);
    out += body;
    out.append((kTarBlock - body.size() % kTarBlock) % kTarBlock, '\0');
  }
  out += block.finish();
  return out;
}

}  // namespace lamina::archive
