#include "archive/tar_fields.h"

#include <limits>
#include <string>
#include <utility>

namespace lamina::archive {

namespace {

constexpr int64_t kModeBits = 07777;

Result<uint32_t> owner_id(std::optional<int64_t> pax, int64_t header) {
  int64_t id = pax.value_or(header);
  // All ones is no id but "do not change", chown(2).
  if (id < 0 || id >= std::numeric_limits<uint32_t>::max()) {
    return fail(malformed_tar("an owner is out of range"));
  }
  return static_cast<uint32_t>(id);
}

timespec whole_seconds(int64_t seconds) {
  return {.tv_sec = seconds, .tv_nsec = 0};
}

Error unknown_type(char type) {
  const bool printable = type > ' ' && type < 0x7F;
  std::string shown = printable
                          ? "'" + std::string(1, type) + "'"
                          : std::to_string(static_cast<unsigned char>(type));
  return malformed_tar("entries of type " + shown + " have no place in a tree");
}

}  // namespace

TarText& TextStore::get() {
  if (!text_) {
    text_ = std::make_shared<TarText>();
  }
  return *text_;
}

std::string_view raw_name(const TarParts& parts, TextStore& store) {
  if (parts.pax.sparse.name) {
    return *parts.pax.sparse.name;
  }
  if (parts.long_name) {
    return *parts.long_name;
  }
  if (parts.pax.path) {
    return *parts.pax.path;
  }
  const TarHeader& header = parts.header;
  if (header.prefix.empty()) {
    return header.name;
  }
  std::string& joined = store.get().joined;
  joined.assign(header.prefix);
  joined += '/';
  joined += header.name;
  return joined;
}

Result<EntryType> entry_type(const TarParts& parts, std::string_view name) {
  switch (char type = parts.header.type) {
    case '\0':
      // The type of v7, which had no other way to say "directory".
      return name.ends_with('/') ? EntryType::directory : EntryType::file;
    case '0':
    case '7':
    case 'S':
      return EntryType::file;
    case '1':
      return EntryType::hard_link;
    case '2':
      return EntryType::symlink;
    case '3':
      return EntryType::char_device;
    case '4':
      return EntryType::block_device;
    case '5':
      return EntryType::directory;
    case '6':
      return EntryType::fifo;
    default:
      return fail(unknown_type(type));
  }
}

Result<void> set_names(const TarParts& parts, std::string_view name,
                       const NameLimits& limits, TextStore& store,
                       TarEntry& entry) {
  std::string scratch;
  auto cleaned = [&](std::string_view raw,
                     std::string TarText::*place) -> Result<std::string_view> {
    TRY_ASSIGN(std::string_view clean, clean_name(raw, limits, scratch));
    if (clean.data() != scratch.data()) {
      return clean;
    }
    std::string& kept = store.get().*place;
    kept = scratch;
    return std::string_view(kept);
  };

  TRY_ASSIGN(entry.path, cleaned(name, &TarText::path));
  if (entry.path == "." && entry.type != EntryType::directory) {
    return fail(malformed_tar("the root can only be a directory"));
  }
  if (entry.type != EntryType::hard_link && entry.type != EntryType::symlink) {
    return {};
  }
  std::string_view link = parts.long_link      ? *parts.long_link
                          : parts.pax.linkpath ? *parts.pax.linkpath
                                               : parts.header.link;
  if (entry.type == EntryType::symlink) {
    entry.link = link;
    return {};
  }
  auto target = cleaned(link, &TarText::link);
  if (!target) {
    target.error().text += ", as the target of a hard link";
    return fail(std::move(target.error()));
  }
  entry.link = *target;
  if (entry.link == entry.path) {
    return fail(malformed_tar("a hard link to itself"));
  }
  return {};
}

Result<void> set_attributes(TarParts& parts, TarEntry& entry) {
  TRY_ASSIGN(TarAttributes header,
             parse_tar_attributes(parts.block, parts.header));
  if (header.mode < 0) {
    return fail(malformed_tar("the mode is negative"));
  }
  // Some writers put the type into the mode too.
  entry.mode = static_cast<mode_t>(header.mode & kModeBits);
  TRY_ASSIGN(entry.uid, owner_id(parts.pax.uid, header.uid));
  TRY_ASSIGN(entry.gid, owner_id(parts.pax.gid, header.gid));
  entry.mtime = parts.pax.mtime.value_or(whole_seconds(header.mtime));
  entry.atime = parts.pax.atime;
  if (!entry.atime && header.atime) {
    entry.atime = whole_seconds(*header.atime);
  }
  if (entry.type == EntryType::char_device ||
      entry.type == EntryType::block_device) {
    TRY_ASSIGN(DeviceNumber device, parse_tar_device(parts.block));
    entry.dev_major = device.major;
    entry.dev_minor = device.minor;
  }
  entry.xattrs = std::move(parts.pax.xattrs);
  return {};
}

}  // namespace lamina::archive
