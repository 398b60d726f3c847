// Changes as text, while they are found: lines as `docker diff` prints them, or
// one JSON object
//   {"changes":[{"kind":"A","path":"etc/hosts"},...],
//    "added":1,"changed":0,"deleted":0}
// in which a path that is no UTF-8 stands as "path_b64", in base64. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "archive/changes.h"

namespace lamina::cli {

class ChangePrinter final : public archive::ChangeSink {
 public:
  enum class As { lines, json };
  using Say = std::function<Result<void>(std::string_view)>;

  ChangePrinter(As as, Say say);

  Result<void> take(const archive::Change& change) override;

  // Prints what is left. finish() ends the object as well.
  Result<void> flush();
  Result<void> finish();

 private:
  void add_json(char kind, std::string_view path);

  const As as_;
  const Say say_;
  std::string text_;
  uint64_t added_ = 0;
  uint64_t changed_ = 0;
  uint64_t deleted_ = 0;
};

}  // namespace lamina::cli
