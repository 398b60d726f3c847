#include "cli/batch_report.h"

#include <nlohmann/json.hpp>

namespace lamina::cli {

std::string batch_json(const copy::BatchResult& result) {
  const copy::BatchReport& report = result ? *result : result.error().done;
  nlohmann::ordered_json out = {{"ok", result.has_value()},
                                {"error_index", nullptr},
                                {"superseded", report.superseded}};
  if (!result) {
    if (result.error().index) {
      out["error_index"] = *result.error().index;
    }
    out["error"] = result.error().error.message();
  }
  out["files"] = report.files;
  out["replaced"] = report.replaced;
  out["directories"] = report.directories;
  out["reflinked"] = report.reflinked;
  out["copied_by_range"] = report.copied_by_range;
  out["copied_by_read_write"] = report.copied_by_read_write;
  out["bytes"] = report.bytes;
  out["workers"] = report.workers;
  out["seconds"] = report.seconds.count();
  return out.dump() + "\n";
}

}  // namespace lamina::cli
