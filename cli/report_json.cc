#include "cli/report_json.h"

#include <nlohmann/json.hpp>

namespace lamina::cli {

std::string report_json(const copy::Report& report,
                        std::optional<uint64_t> verified) {
  nlohmann::ordered_json out = {
      {"directories", report.directories},
      {"reflinked", report.reflinked},
      {"linked", report.linked},
      {"copied_by_range", report.copied_by_range},
      {"copied_by_read_write", report.copied_by_read_write},
      {"empty_files", report.empty_files},
      {"links_recreated", report.links_recreated},
      {"link_fallbacks", report.link_fallbacks},
      {"symlinks", report.symlinks},
      {"specials", report.specials},
      {"bytes_logical", report.bytes_logical},
      {"bytes_written", report.bytes_written},
      {"workers", report.workers},
      {"seconds", report.seconds.count()},
      {"forgiven",
       {{"owners", report.forgiven_owners},
        {"xattrs", report.forgiven_xattrs},
        {"specials", report.forgiven_specials},
        {"modes", report.forgiven_modes},
        {"first", report.first_forgiven}}},
  };
  if (verified) {
    out["verified"] = *verified;
  }
  return out.dump() + "\n";
}

}  // namespace lamina::cli
