#include "cli/print_changes.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "archive/base64.h"
#include "base/utf8.h"

namespace lamina::cli {

namespace {
constexpr size_t kBufferBytes = size_t{64} << 10;
}

ChangePrinter::ChangePrinter(As as, Say say)
    : as_(as),
      say_(std::move(say)) {
  if (as_ == As::json) {
    text_ = R"({"changes":[)";
  }
}

Result<void> ChangePrinter::take(const archive::Change& change) {
  char kind = 'C';
  switch (change.kind) {
    case archive::ChangeKind::added:
      kind = 'A';
      break;
    case archive::ChangeKind::modified:
      break;
    case archive::ChangeKind::deleted:
      kind = 'D';
      break;
    case archive::ChangeKind::relinked:
      return {};  // Nothing of it differs.
  }
  if (as_ == As::json) {
    add_json(kind, change.path);
  } else {
    text_ += kind;
    text_ += " /" + escape_name(change.path) + "\n";
  }
  ++(kind == 'A' ? added_ : kind == 'D' ? deleted_ : changed_);
  return text_.size() < kBufferBytes ? Result<void>() : flush();
}

void ChangePrinter::add_json(char kind, std::string_view path) {
  nlohmann::ordered_json one = {{"kind", std::string(1, kind)}};
  if (is_utf8(path)) {
    one["path"] = path;
  } else {
    one["path_b64"] = archive::encode_base64(path);
  }
  text_ += (added_ + changed_ + deleted_ == 0 ? "" : ",") + one.dump();
}

Result<void> ChangePrinter::flush() {
  std::string text = std::exchange(text_, "");
  return text.empty() ? Result<void>() : say_(text);
}

Result<void> ChangePrinter::finish() {
  if (as_ == As::json) {
    text_ += "],\"added\":" + std::to_string(added_) +
             ",\"changed\":" + std::to_string(changed_) +
             ",\"deleted\":" + std::to_string(deleted_) + "}\n";
  }
  return flush();
}

}  // namespace lamina::cli
