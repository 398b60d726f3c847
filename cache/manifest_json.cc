// The JSON form of a manifest, read and written.
#include <algorithm>
#include <cerrno>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "archive/base64.h"
#include "base/utf8.h"
#include "cache/manifest.h"

namespace lamina::cache {

namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

// One list of a manifest while it is read: errors say where.
class Reader {
 public:
  explicit Reader(std::string_view subject)
      : subject_(subject) {}

  Error refuse(const std::string& what) const {
    return make_error(EINVAL, "manifest", subject_,
                      where_.empty() ? what : where_ + ": " + what);
  }

  void enter(const char* list, size_t index) {
    where_ = std::string(list) + "[" + std::to_string(index) + "]";
  }
  void leave() { where_.clear(); }

  Result<void> only(const Json& object,
                    std::initializer_list<std::string_view> keys) const {
    if (!object.is_object()) {
      return fail(refuse("it is not an object"));
    }
    for (const auto& [key, value] : object.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        return fail(refuse("the key '" + escape_name(key) + "' is unknown"));
      }
    }
    return {};
  }

  // The bytes under `key`, or those in base64 under `key`_b64.
  Result<std::string> bytes(const Json& object, const std::string& key) const {
    auto plain = object.find(key);
    auto coded = object.find(key + "_b64");
    if ((plain == object.end()) == (coded == object.end())) {
      return fail(refuse("it needs one of " + key + " and " + key + "_b64"));
    }
    const Json& value = plain != object.end() ? *plain : *coded;
    if (!value.is_string()) {
      return fail(refuse(key + " is not a string"));
    }
    const auto& text = value.get_ref<const std::string&>();
    if (plain != object.end()) {
      return text;
    }
    auto decoded = archive::decode_base64(text);
    if (!decoded) {
      return fail(refuse(key + "_b64 is not base64"));
    }
    return *decoded;
  }

  Result<mode_t> mode(const Json& value) const {
    if (value.is_number_unsigned() && value.get<uint64_t>() <= 0777) {
      return static_cast<mode_t>(value.get<uint64_t>());
    }
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      bool octal = !text.empty() && text.size() <= 4 &&
                   text.find_first_not_of("01234567") == std::string::npos;
      if (octal) {
        return static_cast<mode_t>(std::stoul(text, nullptr, 8));
      }
    }
    return fail(refuse("mode is not octal digits up to 0777"));
  }

 private:
  std::string_view subject_;
  std::string where_;
};

Result<TreeFile> read_file(const Json& json, const Reader& reader) {
  TRY(reader.only(json, {"path", "path_b64", "digest", "executable", "size",
                         "mode", "mtime_ns"}));
  TreeFile out;
  TRY_ASSIGN(out.path, reader.bytes(json, "path"));
  auto digest = json.find("digest");
  if (digest == json.end() || !digest->is_string()) {
    return fail(reader.refuse("it needs a digest"));
  }
  auto parsed = archive::Digest::parse(digest->get_ref<const std::string&>());
  if (!parsed) {
    return fail(reader.refuse("its digest is not \"sha256:\" and 64 digits"));
  }
  out.digest = *parsed;
  if (auto it = json.find("executable"); it != json.end()) {
    if (!it->is_boolean()) {
      return fail(reader.refuse("executable is neither true nor false"));
    }
    out.executable = it->get<bool>();
  }
  if (auto it = json.find("size"); it != json.end()) {
    if (!it->is_number_unsigned()) {
      return fail(reader.refuse("size is not a number of bytes"));
    }
    out.size = it->get<uint64_t>();
  }
  if (auto it = json.find("mode"); it != json.end()) {
    TRY_ASSIGN(out.mode, reader.mode(*it));
  }
  if (auto it = json.find("mtime_ns"); it != json.end()) {
    bool fits =
        it->is_number_integer() && (!it->is_number_unsigned() ||
                                    it->get<uint64_t>() <= uint64_t{INT64_MAX});
    if (!fits) {
      return fail(reader.refuse("mtime_ns is not a number of nanoseconds"));
    }
    out.mtime_ns = it->get<int64_t>();
  }
  return out;
}

Result<TreeLink> read_link(const Json& json, const Reader& reader) {
  TRY(reader.only(json, {"path", "path_b64", "target", "target_b64"}));
  TreeLink out;
  TRY_ASSIGN(out.path, reader.bytes(json, "path"));
  TRY_ASSIGN(out.target, reader.bytes(json, "target"));
  return out;
}

Result<std::string> read_directory(const Json& json, const Reader& reader) {
  TRY(reader.only(json, {"path", "path_b64"}));
  return reader.bytes(json, "path");
}

template <typename T>
Result<void> read_list(const Json& json, const char* key, Reader& reader,
                       Result<T> (*read)(const Json&, const Reader&),
                       std::vector<T>& out) {
  auto list = json.find(key);
  if (list == json.end()) {
    return {};
  }
  if (!list->is_array()) {
    return fail(reader.refuse(std::string(key) + " is not a list"));
  }
  if (list->size() > kMostTreeEntries) {
    return fail(reader.refuse(std::string(key) + " has too many entries"));
  }
  out.reserve(list->size());
  for (const Json& item : *list) {
    reader.enter(key, out.size());
    TRY_ASSIGN(T value, read(item, reader));
    out.push_back(std::move(value));
  }
  reader.leave();
  return {};
}

void put_bytes(std::string& out, const char* key, const std::string& bytes) {
  out += '"';
  out += key;
  if (is_utf8(bytes)) {
    out += "\":" + Json(bytes).dump();
  } else {
    out += "_b64\":\"" + archive::encode_base64(bytes) + "\"";
  }
}

std::string octal(mode_t mode) {
  std::string out = "0";
  for (unsigned shift : {6U, 3U, 0U}) {
    out += static_cast<char>('0' + ((mode >> shift) & 7U));
  }
  return out;
}

void put_file(std::string& out, const TreeFile& file) {
  put_bytes(out, "path", file.path);
  out += ",\"digest\":\"" + file.digest.text() + "\"";
  if (file.executable) {
    out += ",\"executable\":true";
  }
  if (file.size) {
    out += ",\"size\":" + std::to_string(*file.size);
  }
  if (file.mode) {
    out += ",\"mode\":\"" + octal(*file.mode) + "\"";
  }
  if (file.mtime_ns) {
    out += ",\"mtime_ns\":" + std::to_string(*file.mtime_ns);
  }
}

template <typename T, typename Put>
void put_list(std::string& out, const char* key, const std::vector<T>& list,
              Put put) {
  out += std::string(",\n\"") + key + "\":[";
  const char* between = "\n{";
  for (const T& item : list) {
    out += between;
    put(out, item);
    out += '}';
    between = ",\n{";
  }
  out += ']';
}

// Nesting deeper than any manifest's is refused while it is read: a parser
// that goes on would run out of stack when it throws the value away.
constexpr int kMostNesting = 4;

}  // namespace

Result<Manifest> parse_manifest(std::string_view json,
                                std::string_view subject) {
  Reader reader(subject);
  if (json.size() > kMostManifestBytes) {
    return fail(reader.refuse("it is too large"));
  }
  bool deep = false;
  Json parsed = Json::parse(
      json.begin(), json.end(),
      [&deep](int depth, Json::parse_event_t, Json&) {
        deep = deep || depth > kMostNesting;
        return depth <= kMostNesting;
      },
      false);
  if (parsed.is_discarded() || deep) {
    return fail(reader.refuse("it is not the JSON of a manifest"));
  }
  TRY(reader.only(parsed, {"lamina_tree", "directories", "files", "symlinks"}));
  auto version = parsed.find("lamina_tree");
  if (version == parsed.end() || *version != kVersion) {
    return fail(reader.refuse("lamina_tree, its version, is not 1"));
  }
  Manifest out;
  TRY(read_list(parsed, "directories", reader, read_directory,
                out.directories));
  TRY(read_list(parsed, "files", reader, read_file, out.files));
  TRY(read_list(parsed, "symlinks", reader, read_link, out.symlinks));
  if (auto normal = normalise(out); !normal) {
    Error& error = normal.error();
    return fail(
        reader.refuse("'" + escape_name(error.subject) + "': " + error.text));
  }
  return out;
}

std::string manifest_json(const Manifest& manifest) {
  std::string out = "{\"lamina_tree\":" + std::to_string(kVersion);
  put_list(out, "directories", manifest.directories,
           [](std::string& to, const std::string& path) {
             put_bytes(to, "path", path);
           });
  put_list(out, "files", manifest.files, put_file);
  put_list(out, "symlinks", manifest.symlinks,
           [](std::string& to, const TreeLink& link) {
             put_bytes(to, "path", link.path);
             to += ',';
             put_bytes(to, "target", link.target);
           });
  return out + "}\n";
}

}  // namespace lamina::cache
