#include "archive/tar_sparse.h"

#include <string_view>
#include <utility>

#include "archive/tar_header.h"

namespace lamina::archive {

namespace {

Result<TarSparse> finish(SparseMap& map, int64_t size, uint64_t stored) {
  if (size < 0) {
    return fail(malformed_tar("the size is negative"));
  }
  TarSparse sparse{
      .runs = {}, .size = static_cast<uint64_t>(size), .stored = stored};
  TRY_ASSIGN(sparse.runs, map.take(sparse.size, stored));
  return sparse;
}

// The old GNU format. Blocks that continue the map are not part of the body.
Result<TarSparse> read_gnu(TarBlocks& blocks, const TarParts& parts,
                           uint64_t stored, size_t limit) {
  if (parts.header.format != TarFormat::gnu) {
    return fail(malformed_tar("a GNU sparse file in another format's header"));
  }
  SparseMap map(limit);
  TRY_ASSIGN(int64_t size, parse_gnu_sparse_size(parts.block));
  TRY_ASSIGN(bool more, parse_gnu_sparse_header(parts.block, map));
  // A block without a run would cost nothing of the limit.
  for (size_t blocks_read = 0; more; ++blocks_read) {
    if (blocks_read > limit) {
      return fail(malformed_tar("the sparse map has too many blocks"));
    }
    TRY_ASSIGN(std::string_view block, blocks.require_block());
    TRY_ASSIGN(more, parse_gnu_sparse_block(block, map));
  }
  return finish(map, size, stored);
}

// Format 1.0: the map takes whole blocks off the front of the body.
Result<TarSparse> read_lines(TarBlocks& blocks, int64_t size, uint64_t stored,
                             size_t limit) {
  SparseMap map(limit);
  SparseLines lines(map);
  bool complete = false;
  while (!complete) {
    if (stored < kTarBlock) {
      return fail(malformed_tar("the sparse map does not end"));
    }
    TRY_ASSIGN(std::string_view block, blocks.require_block());
    stored -= kTarBlock;
    TRY_ASSIGN(complete, lines.add(block));
  }
  return finish(map, size, stored);
}

// Formats 0.0 and 0.1.
Result<TarSparse> read_records(const PaxSparse& records, int64_t size,
                               uint64_t stored, size_t limit) {
  SparseMap map(limit);
  if (!records.count) {
    return fail(malformed_tar("a sparse file without a count of its runs"));
  }
  if (records.map) {
    TRY(parse_sparse_record(*records.map, *records.count, map));
  } else {
    if (!std::cmp_equal(records.runs.size(), *records.count)) {
      return fail(malformed_tar("the count of sparse runs is wrong"));
    }
    for (const auto& [offset, length] : records.runs) {
      TRY(map.add(offset, length));
    }
  }
  return finish(map, size, stored);
}

Result<TarSparse> read_pax(TarBlocks& blocks, const PaxSparse& records,
                           uint64_t stored, size_t limit) {
  // Format 0.x wrote the size under one name, 1.0 under another.
  std::optional<int64_t> size =
      records.realsize ? records.realsize : records.size;
  if (!size) {
    return fail(malformed_tar("a sparse file without its size"));
  }
  if (records.major.value_or("0") == "1" &&
      records.minor.value_or("0") == "0") {
    return read_lines(blocks, *size, stored, limit);
  }
  if (records.major.value_or("0") != "0" ||
      (records.minor.value_or("0") != "0" &&
       records.minor.value_or("0") != "1")) {
    return fail(malformed_tar("a sparse format that is not known"));
  }
  return read_records(records, *size, stored, limit);
}

}  // namespace

Result<std::optional<TarSparse>> read_sparse(TarBlocks& blocks,
                                             const TarParts& parts,
                                             EntryType type, uint64_t stored,
                                             size_t limit) {
  const PaxSparse& records = parts.pax.sparse;
  if (parts.header.type == 'S') {
    if (records.any()) {
      return fail(malformed_tar("sparse in two formats at once"));
    }
    return read_gnu(blocks, parts, stored, limit);
  }
  if (!records.any()) {
    return std::nullopt;
  }
  if (type != EntryType::file) {
    return fail(malformed_tar("only a file can be sparse"));
  }
  return read_pax(blocks, records, stored, limit);
}

}  // namespace lamina::archive
