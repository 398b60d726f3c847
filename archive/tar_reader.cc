#include "archive/tar_reader.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "archive/tar_sparse.h"

namespace lamina::archive {

namespace {

// Bytes from the end of a body of `size` to the next block.
uint64_t padding_of(uint64_t size) {
  return (kTarBlock - size % kTarBlock) % kTarBlock;
}

std::string_view until_nul(std::string_view text) {
  return text.substr(0, text.find('\0'));
}

bool is_meta(char type) {
  return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

}  // namespace

TarReader::TarReader(SliceStream& stream, const TarLimits& limits)
    : blocks_(stream),
      limits_(limits) {}

Result<std::optional<TarEntry>> TarReader::next() {
  if (failed_) {
    return fail(*failed_);
  }
  if (ended_) {
    return std::nullopt;
  }
  auto entry = read_entry();
  if (!entry) {
    failed_ = named(std::move(entry.error()));
    return fail(*failed_);
  }
  ended_ = !entry->has_value();
  return entry;
}

Error TarReader::named(Error error) const {
  // Errors of the stream speak for themselves.
  if (error.op != malformed_tar("").op) {
    return error;
  }
  error.subject = subject_.name;
  error.text += " (entry " + std::to_string(subject_.ordinal) + ", at byte " +
                std::to_string(subject_.at) + ")";
  return error;
}

Result<std::optional<TarEntry>> TarReader::read_entry() {
  // What is left of a body is still the fault of its entry.
  TRY(blocks_.skip(body_.left + body_.padding));
  body_ = {};
  subject_ = {};
  store_ = {};
  while (true) {
    TRY_ASSIGN(std::optional<std::string_view> block, next_header());
    if (!block) {
      return std::nullopt;
    }
    TRY_ASSIGN(TarHeader header, parse_tar_header(*block));
    if (is_meta(header.type)) {
      TRY(read_meta(header));
      continue;
    }
    return make_entry(*block, header);
  }
}

// The next block that is a header; nothing where the archive ends well.
Result<std::optional<std::string_view>> TarReader::next_header() {
  if (blocks_.in_reach() == 0) {
    keep_meta();
  }
  subject_.ordinal = ordinal_;
  subject_.at = blocks_.position();
  TRY_ASSIGN(std::optional<std::string_view> block, blocks_.take_block());
  if (!block || is_zero_block(*block)) {
    if (meta_.any()) {
      return fail(malformed_tar("a PAX header or long name without an entry"));
    }
    if (block) {
      TRY(end_archive());
    }
    return std::nullopt;
  }
  subject_.slab = blocks_.share();
  subject_.name = until_nul(block->substr(0, 100));
  return block;
}

// Called behind the first zero block.
Result<void> TarReader::end_archive() {
  TRY_ASSIGN(std::optional<std::string_view> block, blocks_.take_block());
  if (block && !is_zero_block(*block)) {
    return fail(malformed_tar("a single zero block within the archive"));
  }
  return blocks_.drain();
}

Result<void> TarReader::read_meta(const TarHeader& header) {
  auto size = static_cast<uint64_t>(header.size);
  if (size > limits_.meta_bytes) {
    return fail(malformed_tar("a PAX header or long name is too long"));
  }
  if (header.type == 'L') {
    TRY_ASSIGN(std::string_view body,
               read_meta_body(size, &TarText::long_name));
    meta_.long_name = until_nul(body);
    if (meta_.long_name->empty()) {
      meta_.long_name.reset();
    }
  } else if (header.type == 'K') {
    TRY_ASSIGN(std::string_view body,
               read_meta_body(size, &TarText::long_link));
    meta_.long_link = until_nul(body);
    if (meta_.long_link->empty()) {
      meta_.long_link.reset();
    }
  } else if (header.type == 'x') {
    TRY_ASSIGN(meta_.pax, read_meta_body(size, &TarText::pax));
  } else {
    TRY_ASSIGN(std::string_view body, read_meta_body(size, &TarText::joined));
    TRY(parse_pax(body, limits_.sparse_runs));
  }
  return blocks_.skip(padding_of(size));
}

// The body as a slice of its slab, or put together in the store.
Result<std::string_view> TarReader::read_meta_body(
    uint64_t size, std::string TarText::*place) {
  if (size <= blocks_.in_reach()) {
    if (size == 0) {
      return std::string_view();
    }
    TRY_ASSIGN(Slice piece, blocks_.take(size));
    return text_of(piece.bytes);
  }
  keep_meta();
  std::string& body = store_.get().*place;
  body.clear();
  while (body.size() < size) {
    TRY_ASSIGN(Slice piece, blocks_.take(size - body.size()));
    body += text_of(piece.bytes);
  }
  return std::string_view(body);
}

// Copies meta bodies that lie in the current slab, before it is left.
void TarReader::keep_meta() {
  auto keep = [&](std::optional<std::string_view>& body,
                  std::string TarText::*place) {
    if (!body) {
      return;
    }
    std::string& kept = store_.get().*place;
    if (body->data() == kept.data()) {
      return;
    }
    kept.assign(*body);
    *body = kept;
  };
  keep(meta_.pax, &TarText::pax);
  keep(meta_.long_name, &TarText::long_name);
  keep(meta_.long_link, &TarText::long_link);
}

Result<TarEntry> TarReader::make_entry(std::string_view block,
                                       const TarHeader& header) {
  if (ordinal_ >= limits_.entries) {
    return fail(malformed_tar("too many entries"));
  }
  TarParts parts{.block = block,
                 .header = header,
                 .pax = {},
                 .long_name = meta_.long_name,
                 .long_link = meta_.long_link};
  if (meta_.pax) {
    TRY_ASSIGN(parts.pax, parse_pax(*meta_.pax, limits_.sparse_runs));
  }
  meta_ = {};

  TarEntry entry;
  entry.ordinal = ordinal_;
  entry.slab = blocks_.share();
  std::string_view name = raw_name(parts, store_);
  subject_.name = name;
  TRY_ASSIGN(entry.type, entry_type(parts, name));
  TRY(set_names(parts, name, limits_.names, store_, entry));
  TRY(set_attributes(parts, entry));
  TRY(set_body(parts, entry));
  entry.text = store_.take();
  subject_.name = entry.path;
  subject_.text = entry.text;
  ++ordinal_;
  return entry;
}

Result<void> TarReader::set_body(const TarParts& parts, TarEntry& entry) {
  int64_t size = parts.pax.size.value_or(parts.header.size);
  if (size < 0) {
    return fail(malformed_tar("the size is negative"));
  }
  const bool has_body = entry.type == EntryType::file;
  entry.stored = has_body ? static_cast<uint64_t>(size) : 0;
  entry.size = entry.stored;
  body_.padding = padding_of(entry.stored);
  TRY_ASSIGN(std::optional<TarSparse> sparse,
             read_sparse(blocks_, parts, entry.type, entry.stored,
                         limits_.sparse_runs));
  if (sparse) {
    entry.size = sparse->size;
    entry.stored = sparse->stored;
    body_.runs = std::move(sparse->runs);
  }
  body_.left = entry.stored;
  if (entry.size > limits_.file_bytes) {
    return fail(make_error(EFBIG, malformed_tar("").op, "",
                           "the file is larger than allowed"));
  }
  return {};
}

Result<std::optional<BodyPiece>> TarReader::next_body() {
  if (failed_) {
    return fail(*failed_);
  }
  if (body_.left == 0) {
    return std::nullopt;
  }
  uint64_t most = body_.left;
  if (body_.runs) {
    // Runs hold as many bytes together as are left, and none is empty.
    if (body_.run_left == 0) {
      const SparseRun& run = (*body_.runs)[body_.next_run++];
      body_.offset = run.offset;
      body_.run_left = run.length;
    }
    most = body_.run_left;
  }
  auto piece = blocks_.take(most);
  if (!piece) {
    failed_ = named(std::move(piece.error()));
    return fail(*failed_);
  }
  const uint64_t count = piece->bytes.size();
  BodyPiece out{.slice = *std::move(piece), .offset = body_.offset};
  body_.offset += count;
  body_.left -= count;
  if (body_.runs) {
    body_.run_left -= count;
  }
  return out;
}

}  // namespace lamina::archive
