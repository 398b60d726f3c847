#include "archive/sparse.h"

#include <limits>
#include <utility>

#include "archive/pax.h"
#include "archive/tar_header.h"

namespace lamina::archive {

namespace {

// Where the old GNU format has its numbers.
constexpr size_t kHeaderRuns = 386;
constexpr size_t kHeaderCount = 4;
constexpr size_t kHeaderMore = 482;
constexpr size_t kRealSize = 483;
constexpr size_t kBlockCount = 21;
constexpr size_t kBlockMore = 504;
constexpr size_t kNumber = 12;

Result<void> add_gnu_runs(std::string_view numbers, SparseMap& map) {
  for (; !numbers.empty(); numbers.remove_prefix(2 * kNumber)) {
    if (numbers[0] == '\0') {
      break;
    }
    TRY_ASSIGN(int64_t offset, parse_tar_number(numbers.substr(0, kNumber)));
    TRY_ASSIGN(int64_t length,
               parse_tar_number(numbers.substr(kNumber, kNumber)));
    TRY(map.add(offset, length));
  }
  return {};
}

}  // namespace

Result<void> SparseMap::add(int64_t offset, int64_t length) {
  if (++added_ > limit_) {
    return fail(malformed_tar("the sparse map has too many runs"));
  }
  if (offset < 0 || length < 0) {
    return fail(malformed_tar("a number of the sparse map is negative"));
  }
  SparseRun run{.offset = static_cast<uint64_t>(offset),
                .length = static_cast<uint64_t>(length)};
  if (run.offset < end_) {
    return fail(malformed_tar("runs of the sparse map overlap"));
  }
  // Both are below 2^63, so their sum fits.
  end_ = run.offset + run.length;
  stored_ += run.length;
  if (run.length != 0) {
    runs_.push_back(run);
  }
  return {};
}

Result<SparseRuns> SparseMap::take(uint64_t size, uint64_t stored) {
  if (end_ > size) {
    return fail(malformed_tar("the sparse map goes past the end of the file"));
  }
  if (stored_ != stored) {
    return fail(malformed_tar("the sparse map does not fit what is stored"));
  }
  return std::exchange(runs_, {});
}

Result<void> parse_sparse_record(std::string_view record, int64_t count,
                                 SparseMap& map) {
  if (count < 0 || std::cmp_greater(count, map.limit())) {
    return fail(malformed_tar("the sparse map has too many runs"));
  }
  auto next = [&]() -> Result<int64_t> {
    size_t comma = record.find(',');
    std::string_view number = record.substr(0, comma);
    record = comma == std::string_view::npos ? std::string_view()
                                             : record.substr(comma + 1);
    return parse_pax_number(number);
  };
  for (int64_t i = 0; i < count; ++i) {
    TRY_ASSIGN(int64_t offset, next());
    TRY_ASSIGN(int64_t length, next());
    TRY(map.add(offset, length));
  }
  if (!record.empty()) {
    return fail(malformed_tar("the sparse map is longer than it says"));
  }
  return {};
}

Result<bool> SparseLines::add(std::string_view block) {
  for (char c : block) {
    if (c == '\n') {
      TRY_ASSIGN(bool complete, end_number());
      if (complete) {
        return true;
      }
      continue;
    }
    int64_t digit = c - '0';
    // 18 digits always fit; no file is as large as 10^18 bytes.
    if (digit < 0 || digit > 9 || ++digits_ > 18) {
      return fail(malformed_tar("the sparse map is not made of numbers"));
    }
    number_ = number_ * 10 + digit;
  }
  return false;
}

Result<bool> SparseLines::end_number() {
  if (std::exchange(digits_, 0) == 0) {
    return fail(malformed_tar("the sparse map has an empty line"));
  }
  int64_t number = std::exchange(number_, 0);
  if (count_ < 0) {
    if (std::cmp_greater(number, map_.limit())) {
      return fail(malformed_tar("the sparse map has too many runs"));
    }
    count_ = number;
  } else if (offset_ < 0) {
    offset_ = number;
  } else {
    TRY(map_.add(std::exchange(offset_, -1), number));
  }
  return offset_ < 0 && std::cmp_equal(map_.added(), count_);
}

Result<bool> parse_gnu_sparse_header(std::string_view block, SparseMap& map) {
  TRY(add_gnu_runs(block.substr(kHeaderRuns, kHeaderCount * 2 * kNumber), map));
  return block[kHeaderMore] != '\0';
}

Result<bool> parse_gnu_sparse_block(std::string_view block, SparseMap& map) {
  TRY(add_gnu_runs(block.substr(0, kBlockCount * 2 * kNumber), map));
  return block[kBlockMore] != '\0';
}

Result<int64_t> parse_gnu_sparse_size(std::string_view block) {
  TRY_ASSIGN(int64_t size, parse_tar_number(block.substr(kRealSize, kNumber)));
  if (size < 0) {
    return fail(malformed_tar("the size is negative"));
  }
  return size;
}

}  // namespace lamina::archive
