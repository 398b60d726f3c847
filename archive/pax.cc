#include "archive/pax.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <limits>

#include "archive/tar_header.h"

namespace lamina::archive {

namespace {

constexpr std::string_view kXattr = "SCHILY.xattr.";
constexpr std::string_view kSparse = "GNU.sparse.";
// "5 k=\n" is the shortest.
constexpr size_t kShortest = 5;
constexpr size_t kNanosecondDigits = 9;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name(std::string_view key) {
  return key == "path" || key == "linkpath" || key == "uname" ||
         key == "gname" || key == "GNU.sparse.name";
}

template <typename T>
Result<void> set(std::optional<T>& field, std::string_view value,
                 Result<T> (*parse)(std::string_view)) {
  if (value.empty()) {
    field.reset();
    return {};
  }
  TRY_ASSIGN(field, parse(value));
  return {};
}

Result<std::string_view> as_it_is(std::string_view text) {
  return text;
}

// Reads the records into what they say.
class Reader {
 public:
  explicit Reader(size_t sparse_limit)
      : sparse_limit_(sparse_limit) {}

  Result<void> add(const PaxRecord& record);
  Result<PaxRecords> finish();

 private:
  Result<void> add_sparse(std::string_view key, std::string_view value);
  Result<void> add_sparse_run(std::string_view key, std::string_view value);

  const size_t sparse_limit_;
  PaxRecords out_;
  // Format 0.0: an offset that waits for its length.
  std::optional<int64_t> offset_;
};

Result<void> Reader::add(const PaxRecord& record) {
  const auto& [key, value] = record;
  if (key == "path") {
    return set(out_.path, value, as_it_is);
  }
  if (key == "linkpath") {
    return set(out_.linkpath, value, as_it_is);
  }
  if (key == "size") {
    return set(out_.size, value, parse_pax_number);
  }
  if (key == "uid") {
    return set(out_.uid, value, parse_pax_number);
  }
  if (key == "gid") {
    return set(out_.gid, value, parse_pax_number);
  }
  if (key == "mtime") {
    return set(out_.mtime, value, parse_pax_time);
  }
  if (key == "atime") {
    return set(out_.atime, value, parse_pax_time);
  }
  if (key == "ctime") {
    // Nobody can set it, but a bad one tells of a bad header.
    std::optional<timespec> unused;
    return set(unused, value, parse_pax_time);
  }
  if (key.starts_with(kXattr)) {
    out_.xattrs.push_back({.name = key.substr(kXattr.size()), .value = value});
    if (out_.xattrs.back().name.empty()) {
      return fail(malformed_tar("an extended attribute has no name"));
    }
  }
  if (key.starts_with(kSparse)) {
    return add_sparse(key.substr(kSparse.size()), value);
  }
  return {};
}

Result<void> Reader::add_sparse(std::string_view key, std::string_view value) {
  PaxSparse& sparse = out_.sparse;
  if (key == "major") {
    return set(sparse.major, value, as_it_is);
  }
  if (key == "minor") {
    return set(sparse.minor, value, as_it_is);
  }
  if (key == "name") {
    return set(sparse.name, value, as_it_is);
  }
  if (key == "size") {
    return set(sparse.size, value, parse_pax_number);
  }
  if (key == "realsize") {
    return set(sparse.realsize, value, parse_pax_number);
  }
  if (key == "numblocks") {
    return set(sparse.count, value, parse_pax_number);
  }
  if (key == "map") {
    return set(sparse.map, value, as_it_is);
  }
  return add_sparse_run(key, value);
}

Result<void> Reader::add_sparse_run(std::string_view key,
                                    std::string_view value) {
  if (key != "offset" && key != "numbytes") {
    return {};
  }
  // Strictly in turn, or pairs could be read in two ways.
  if ((key == "offset") == offset_.has_value()) {
    return fail(
        malformed_tar("offsets and lengths of the sparse map are not "
                      "in turn"));
  }
  TRY_ASSIGN(int64_t number, parse_pax_number(value));
  if (!offset_) {
    offset_ = number;
    return {};
  }
  if (out_.sparse.runs.size() >= sparse_limit_) {
    return fail(malformed_tar("the sparse map has too many runs"));
  }
  out_.sparse.runs.emplace_back(*offset_, number);
  offset_.reset();
  return {};
}

Result<PaxRecords> Reader::finish() {
  if (offset_) {
    return fail(malformed_tar("the sparse map ends in an offset"));
  }
  // The last of each name counts, and an empty one takes it back.
  std::vector<Xattr>& all = out_.xattrs;
  std::ranges::stable_sort(all, {}, &Xattr::name);
  auto kept = all.begin();
  for (auto it = all.begin(); it != all.end(); ++it) {
    bool last = std::next(it) == all.end() || std::next(it)->name != it->name;
    if (last && !it->value.empty()) {
      *kept++ = *it;
    }
  }
  all.erase(kept, all.end());
  return std::move(out_);
}

}  // namespace

Result<PaxRecord> take_pax_record(std::string_view& body) {
  size_t length = 0;
  const char* end = body.data() + body.size();
  auto [after, fault] = std::from_chars(body.data(), end, length);
  if (fault != std::errc() || after == end || *after != ' ') {
    return fail(malformed_tar("a PAX record does not begin with its length"));
  }
  if (length < kShortest || length > body.size()) {
    return fail(malformed_tar("a PAX record has a wrong length"));
  }
  auto digits = static_cast<size_t>(after - body.data());
  if (length <= digits + 1 || body[length - 1] != '\n') {
    return fail(malformed_tar("a PAX record does not end in a newline"));
  }
  std::string_view text = body.substr(digits + 1, length - digits - 2);
  body.remove_prefix(length);
  size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return fail(malformed_tar("a PAX record has no key and value"));
  }
  PaxRecord record{.key = text.substr(0, equals),
                   .value = text.substr(equals + 1)};
  if (record.key.find('\0') != std::string_view::npos ||
      (is_name(record.key) &&
       record.value.find('\0') != std::string_view::npos)) {
    return fail(malformed_tar("NUL in the name of a PAX record"));
  }
  return record;
}

Result<PaxRecords> parse_pax(std::string_view body, size_t sparse_limit) {
  Reader reader(sparse_limit);
  while (!body.empty()) {
    TRY_ASSIGN(PaxRecord record, take_pax_record(body));
    TRY(reader.add(record));
  }
  return reader.finish();
}

Result<int64_t> parse_pax_number(std::string_view text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  // from_chars takes a minus and no plus, no space, no sign of a base.
  auto [after, fault] = std::from_chars(text.data(), end, number);
  if (fault != std::errc() || after != end) {
    return fail(malformed_tar("a PAX record is not a number"));
  }
  return number;
}

Result<timespec> parse_pax_time(std::string_view text) {
  size_t point = std::min(text.find('.'), text.size());
  TRY_ASSIGN(int64_t seconds, parse_pax_number(text.substr(0, point)));
  std::string_view fraction =
      point < text.size() ? text.substr(point + 1) : std::string_view();
  if (!std::ranges::all_of(fraction, is_digit)) {
    return fail(malformed_tar("a PAX record is not a time"));
  }
  int64_t nanoseconds = 0;
  for (size_t i = 0; i < kNanosecondDigits; ++i) {
    nanoseconds =
        nanoseconds * 10 + (i < fraction.size() ? fraction[i] - '0' : 0);
  }
  // The sign is that of the whole, "-0.5" too.
  if (text.starts_with('-') && nanoseconds != 0) {
    if (seconds == std::numeric_limits<int64_t>::min()) {
      return fail(malformed_tar("a PAX time needs more than 64 bits"));
    }
    seconds -= 1;
    nanoseconds = 1'000'000'000 - nanoseconds;
  }
  return timespec{.tv_sec = seconds, .tv_nsec = nanoseconds};
}

void append_pax_record(std::string& body, std::string_view key,
                       std::string_view value) {
  // Space, equals sign, newline.
  const size_t rest = key.size() + value.size() + 3;
  size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) {
    length = std::to_string(length).size() + rest;
  }
  body += std::to_string(length);
  body += ' ';
  body += key;
  body += '=';
  body += value;
  body += '\n';
}

std::string format_pax_time(const timespec& time) {
  int64_t seconds = time.tv_sec;
  int64_t nanoseconds = time.tv_nsec;
  std::string out;
  if (seconds < 0 && nanoseconds != 0) {
    seconds += 1;
    nanoseconds = 1'000'000'000 - nanoseconds;
    if (seconds == 0) {
      out += '-';
    }
  }
  out += std::to_string(seconds);
  if (nanoseconds != 0) {
    std::string digits = std::to_string(nanoseconds);
    out += '.';
    out.append(kNanosecondDigits - digits.size(), '0');
    out += digits;
    out.erase(out.find_last_not_of('0') + 1);
  }
  return out;
}

}  // namespace lamina::archive
