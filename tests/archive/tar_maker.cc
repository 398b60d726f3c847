#include "tests/archive/tar_maker.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "archive/digest.h"
#include "archive/pax.h"
#include "gtest/gtest.h"
#include "tests/support/tree_text.h"

namespace lamina::archive::test {

namespace {

std::string octal(uint64_t number, size_t digits) {
  std::string text(digits, '0');
  for (size_t i = digits; i-- > 0; number >>= 3U) {
    text[i] = static_cast<char>('0' + (number & 7U));
  }
  return text;
}

const char* type_name(EntryType type) {
  switch (type) {
    case EntryType::file:
      return "file";
    case EntryType::hard_link:
      return "link";
    case EntryType::symlink:
      return "symlink";
    case EntryType::char_device:
      return "char";
    case EntryType::block_device:
      return "block";
    case EntryType::directory:
      return "dir";
    case EntryType::fifo:
      return "fifo";
  }
  return "?";
}

std::string shown_body(const std::string& body) {
  if (body.size() <= 40) {
    return lamina::test::escape(body);
  }
  Sha256 hash;
  hash.add(bytes_of(body));
  return std::to_string(body.size()) + "," + hash.finish()->text().substr(7, 8);
}

// Files with large holes are shown by their pieces.
constexpr uint64_t kMostShown = 1U << 20;

Result<std::string> read_body(TarReader& reader, const TarEntry& entry) {
  std::string body(std::min(entry.size, kMostShown), '\0');
  std::string pieces;
  while (true) {
    TRY_ASSIGN(std::optional<BodyPiece> piece, reader.next_body());
    if (!piece) {
      break;
    }
    std::string_view bytes = text_of(piece->slice.bytes);
    if (piece->offset + bytes.size() <= body.size()) {
      body.replace(piece->offset, bytes.size(), bytes);
    }
    pieces += "@" + std::to_string(piece->offset) + "+" +
              std::to_string(bytes.size());
  }
  return entry.size <= kMostShown ? shown_body(body) : pieces;
}

std::string line_of(const TarEntry& entry) {
  using lamina::test::escape;
  std::string line = std::to_string(entry.ordinal) + " " +
                     type_name(entry.type) + " " +
                     escape(std::string(entry.path));
  if (!entry.link.empty()) {
    line += " -> " + escape(std::string(entry.link));
  }
  line += " mode=" + octal(entry.mode, entry.mode > 0777 ? 4 : 3);
  line +=
      " owner=" + std::to_string(entry.uid) + ":" + std::to_string(entry.gid);
  line += " mtime=" + format_pax_time(entry.mtime);
  if (entry.atime) {
    line += " atime=" + format_pax_time(*entry.atime);
  }
  if (entry.dev_major != 0 || entry.dev_minor != 0) {
    line += " dev=" + std::to_string(entry.dev_major) + ":" +
            std::to_string(entry.dev_minor);
  }
  for (const Xattr& xattr : entry.xattrs) {
    line += " " + escape(std::string(xattr.name)) + "=" +
            escape(std::string(xattr.value));
  }
  if (entry.type == EntryType::file) {
    line += " size=" + std::to_string(entry.size);
  }
  return line;
}

enum class Bodies { read, skipped };

std::string list(SliceStream& stream, const TarLimits& limits, Bodies bodies) {
  TarReader reader(stream, limits);
  std::string out;
  while (true) {
    auto entry = reader.next();
    if (!entry) {
      return out + entry.error().message() + "\n";
    }
    if (!*entry) {
      return out;
    }
    std::string body;
    if (bodies == Bodies::read && (*entry)->stored != 0) {
      auto text = read_body(reader, **entry);
      if (!text) {
        return out + line_of(**entry) + "\n" + text.error().message() + "\n";
      }
      body = " body=" + *text;
    }
    // The entry's line is made after its body has flowed by: its names must
    // still be there.
    out += line_of(**entry) + body + "\n";
  }
}

// Without the bodies, for comparing.
std::string without_bodies(std::string text) {
  size_t at = 0;
  while ((at = text.find(" body=", at)) != std::string::npos) {
    text.erase(at, text.find('\n', at) - at);
  }
  return text;
}

}  // namespace

std::string with_checksum(std::string block) {
  block.replace(148, 8, 8, ' ');
  uint64_t sum = 0;
  for (char c : block) {
    sum += static_cast<unsigned char>(c);
  }
  block.replace(148, 8, octal(sum, 6) + std::string("\0 ", 2));
  return block;
}

std::string header_block(const Header& header) {
  std::string block(512, '\0');
  auto put = [&](size_t at, std::string_view text) {
    block.replace(at, text.size(), text);
  };
  put(0, std::string_view(header.name).substr(0, 100));
  put(100, octal(header.mode, 7));
  put(108, octal(header.uid, 7));
  put(116, octal(header.gid, 7));
  put(124, octal(header.size, 11));
  put(136, octal(header.mtime, 11));
  block[156] = header.type;
  put(157, std::string_view(header.link).substr(0, 100));
  put(257, std::string_view("ustar\00000", 8));
  return with_checksum(std::move(block));
}

std::string padded(std::string_view text) {
  std::string out(text);
  out.resize((out.size() + 511) / 512 * 512, '\0');
  return out;
}

std::string member(Header header, std::string_view body) {
  if (!body.empty()) {
    header.size = body.size();
  }
  return header_block(header) + padded(body);
}

std::string raw_pax_member(std::string_view body, char type) {
  return member({.name = "PaxHeaders/x", .size = body.size(), .type = type},
                body);
}

std::string pax_member(
    const std::vector<std::pair<std::string, std::string>>& records,
    char type) {
  std::string body;
  for (const auto& [key, value] : records) {
    append_pax_record(body, key, value);
  }
  return raw_pax_member(body, type);
}

std::string long_member(char type, std::string_view text) {
  std::string body(text);
  body += '\0';
  return member({.name = "././@LongLink", .type = type}, body);
}

std::string end_marker() {
  return std::string(1024, '\0');
}

Result<std::optional<Slice>> RingSlices::next() {
  if (rest_.empty()) {
    return std::nullopt;
  }
  SlabRef slab = ring_.acquire();
  // What a slab held before must not be read any more.
  std::memset(slab.memory().data(), 'Z', slab.memory().size());
  size_t count = std::min(rest_.size(), slab.memory().size());
  std::memcpy(slab.memory().data(), rest_.data(), count);
  rest_.remove_prefix(count);
  Bytes bytes = slab.memory().first(count);
  return Slice{.slab = std::move(slab), .bytes = bytes};
}

std::string listing(SliceStream& stream, const TarLimits& limits) {
  return list(stream, limits, Bodies::read);
}

std::string listing(std::string_view tar, const TarLimits& limits) {
  MemorySlices slices(bytes_of(tar));
  return listing(slices, limits);
}

std::string listing_every_way(std::string_view tar) {
  const std::string want = listing(tar);
  for (size_t slab_bytes : {512U, 1024U, 4096U, 1U << 20}) {
    RingSlices slices(tar, slab_bytes);
    EXPECT_EQ(listing(slices), want) << "slabs of " << slab_bytes;
    EXPECT_EQ(slices.ring().available(), slices.ring().slabs());
  }
  if (want.find("read tar") == std::string::npos) {
    RingSlices slices(tar, 1024);
    EXPECT_EQ(list(slices, {}, Bodies::skipped), without_bodies(want));
  }
  return want;
}

}  // namespace lamina::archive::test
