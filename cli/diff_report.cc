#include "cli/diff_report.h"

#include <nlohmann/json.hpp>

#include "cli/report_text.h"

namespace lamina::cli {

std::string diff_report_text(const archive::DiffReport& report) {
  std::string out = report_line(
      "entries", made_how(report.entries, {{report.directories, "directories"},
                                           {report.files, "files"},
                                           {report.symlinks, "symlinks"},
                                           {report.specials, "special files"},
                                           {report.hard_links, "hard links"},
                                           {report.whiteouts, "whiteouts"}}));
  out += report_line("size", human_bytes(report.bytes_out));
  if (report.diff_id) {
    out += report_line("diffID", report.diff_id->text());
  }
  if (report.sockets != 0) {
    out += report_line("left out", with_commas(report.sockets) + " sockets");
  }
  if (report.dropped_xattrs != 0) {
    out += report_line("left out",
                       with_commas(report.dropped_xattrs) +
                           " attributes, the first: " + report.first_dropped);
  }
  return out;
}

std::string diff_report_json(const archive::DiffReport& report) {
  nlohmann::ordered_json out = {
      {"entries", report.entries},
      {"directories", report.directories},
      {"files", report.files},
      {"symlinks", report.symlinks},
      {"specials", report.specials},
      {"hard_links", report.hard_links},
      {"whiteouts", report.whiteouts},
      {"sockets", report.sockets},
      {"dropped_xattrs", report.dropped_xattrs},
      {"first_dropped", report.first_dropped},
      {"bytes", report.bytes},
      {"bytes_out", report.bytes_out},
  };
  if (report.diff_id) {
    out["diff_id"] = report.diff_id->text();
  }
  return out.dump() + "\n";
}

}  // namespace lamina::cli
