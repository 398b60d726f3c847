// Whatever a tar holds: it is read or refused, the same for every size of slab;
// what is read keeps the reader's promises; and what the writer takes of it
// comes back as it was.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "archive/pax.h"
#include "archive/tar_reader.h"
#include "archive/tar_writer.h"

namespace {

using namespace lamina;
using namespace lamina::archive;

constexpr uint64_t kMostRewritten = 1 << 16;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

// Makes the checksum of each block right that has the magic of a header: chance
// would never find one.
std::string with_checksums(std::string_view data) {
  std::string tar(data);
  for (size_t at = 0; at + kTarBlock <= tar.size(); at += kTarBlock) {
    if (tar.compare(at + 257, 5, "ustar") != 0) {
      continue;
    }
    tar.replace(at + 148, 8, 8, ' ');
    unsigned sum = 0;
    for (size_t i = 0; i < kTarBlock; ++i) {
      sum += static_cast<unsigned char>(tar[at + i]);
    }
    for (size_t i = 6; i-- > 0; sum >>= 3U) {
      tar[at + 148 + i] = static_cast<char>('0' + (sum & 7U));
    }
    tar[at + 154] = '\0';
  }
  return tar;
}

class RingSlices final : public SliceStream {
 public:
  RingSlices(std::string_view bytes, size_t slab_bytes)
      : ring_(SlabRing::kFewestSlabs, slab_bytes),
        rest_(bytes) {}

  Result<std::optional<Slice>> next() override {
    if (rest_.empty()) {
      return std::nullopt;
    }
    SlabRef slab = ring_.acquire();
    std::memset(slab.memory().data(), 'Z', slab.memory().size());
    size_t count = std::min(rest_.size(), slab.memory().size());
    std::memcpy(slab.memory().data(), rest_.data(), count);
    rest_.remove_prefix(count);
    Bytes bytes = slab.memory().first(count);
    return Slice{.slab = std::move(slab), .bytes = bytes};
  }

 private:
  SlabRing ring_;
  std::string_view rest_;
};

void check_name(std::string_view name) {
  require(!name.empty() && name.size() <= 4095);
  require(name.find('\0') == std::string_view::npos);
  if (name == ".") {
    return;
  }
  std::string whole = "/" + std::string(name) + "/";
  for (const char* bad : {"//", "/./", "/../"}) {
    require(whole.find(bad) == std::string::npos);
  }
}

void check(const TarEntry& entry) {
  check_name(entry.path);
  require(entry.path != "." || entry.type == EntryType::directory);
  require((entry.mode & ~mode_t{07777}) == 0);
  require(entry.uid != UINT32_MAX && entry.gid != UINT32_MAX);
  require(entry.mtime.tv_nsec >= 0 && entry.mtime.tv_nsec < 1'000'000'000);
  require(entry.size <= INT64_MAX && entry.stored <= entry.size);
  if (entry.type == EntryType::hard_link) {
    check_name(entry.link);
    require(entry.link != entry.path);
  }
  for (const Xattr& xattr : entry.xattrs) {
    require(!xattr.name.empty() && !xattr.value.empty());
    require(xattr.name.find('\0') == std::string_view::npos);
  }
}

// All that is seen of an entry, one line.
std::string describe(const TarEntry& entry, std::string_view body) {
  std::string out = std::to_string(static_cast<int>(entry.type)) + " " +
                    std::string(entry.path) + " > " + std::string(entry.link);
  for (uint64_t number :
       {uint64_t{entry.mode}, uint64_t{entry.uid}, uint64_t{entry.gid},
        uint64_t{entry.dev_major}, uint64_t{entry.dev_minor}, entry.size}) {
    out += " " + std::to_string(number);
  }
  out += " " + format_pax_time(entry.mtime);
  for (const Xattr& xattr : entry.xattrs) {
    out += " " + std::string(xattr.name) + "=" + std::string(xattr.value);
  }
  return out.append(" ").append(body) + "\n";
}

struct Seen {
  std::string text;
  std::string error;
  // The entries that the writer took, described, and what it wrote.
  std::string rewritten_text;
  std::string rewritten;
};

// Reads the body; the bytes of large files do not matter, their places do.
Result<std::string> read_body(TarReader& reader, const TarEntry& entry) {
  std::string body(std::min(entry.size, kMostRewritten), '\0');
  uint64_t end = 0;
  uint64_t count = 0;
  while (true) {
    TRY_ASSIGN(std::optional<BodyPiece> piece, reader.next_body());
    if (!piece) {
      break;
    }
    std::string_view bytes = text_of(piece->slice.bytes);
    require(!bytes.empty() && piece->offset >= end);
    end = piece->offset + bytes.size();
    count += bytes.size();
    require(end <= entry.size);
    if (end <= body.size()) {
      body.replace(piece->offset, bytes.size(), bytes);
    }
  }
  require(count == entry.stored);
  return body;
}

Seen see(SliceStream& stream) {
  Seen seen;
  TarWriter writer([&](Bytes bytes) -> Result<void> {
    seen.rewritten += text_of(bytes);
    return {};
  });
  bool writing = true;
  TarReader reader(stream);
  while (true) {
    auto entry = reader.next();
    if (!entry || !*entry) {
      seen.error = entry ? "" : entry.error().message();
      break;
    }
    check(**entry);
    auto body = read_body(reader, **entry);
    if (!body) {
      seen.error = body.error().message();
      break;
    }
    std::string line = describe(**entry, *body);
    seen.text += line;
    if (writing && (*entry)->size <= kMostRewritten) {
      writing = writer.add(**entry) && writer.body(bytes_of(*body));
      seen.rewritten_text += writing ? line : "";
    }
  }
  if (!writing || !writer.finish()) {
    seen.rewritten.clear();
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string tar = with_checksums(
      std::string_view(reinterpret_cast<const char*>(data), size));
  MemorySlices memory(bytes_of(tar));
  Seen seen = see(memory);

  for (size_t slab_bytes : {kTarBlock, 4 * kTarBlock}) {
    RingSlices slices(tar, slab_bytes);
    Seen again = see(slices);
    require(again.text == seen.text && again.error == seen.error);
  }
  if (!seen.rewritten.empty()) {
    MemorySlices rewritten(bytes_of(seen.rewritten));
    Seen back = see(rewritten);
    require(back.error.empty() && back.text == seen.rewritten_text);
    require(back.rewritten == seen.rewritten);
  }
  return 0;
}
