#include "cli/apply_report.h"

#include <nlohmann/json.hpp>

#include "cli/report_text.h"

namespace lamina::cli {

namespace {

copy::Report forgiven_of(const archive::ApplyReport& report) {
  copy::Report out;
  out.forgiven_owners = report.forgiven_owners;
  out.forgiven_xattrs = report.forgiven_xattrs;
  out.forgiven_specials = report.forgiven_specials;
  out.forgiven_modes = report.forgiven_modes;
  out.first_forgiven = report.first_forgiven;
  return out;
}

}  // namespace

std::string apply_report_text(const archive::ApplyReport& report) {
  std::string out = report_line(
      "entries", made_how(report.entries, {{report.directories, "directories"},
                                           {report.files, "files"},
                                           {report.hard_links, "hard links"},
                                           {report.symlinks, "symlinks"},
                                           {report.specials, "special files"},
                                           {report.whiteouts, "whiteouts"},
                                           {report.skipped, "skipped"}}));
  out += report_line("bytes", human_bytes(report.bytes) + " in files, " +
                                  human_bytes(report.bytes_in) + " read");
  if (report.dropped_xattrs != 0) {
    out += report_line("dropped",
                       with_commas(report.dropped_xattrs) + " attributes");
  }
  out += forgiven_text(forgiven_of(report));
  out += report_line("diffID", report.diff_id.text());
  if (report.digest != report.diff_id) {
    out += report_line("digest", report.digest.text());
  }
  return out +
         report_line("time", time_text(report.seconds.count(), report.workers));
}

std::string apply_report_json(const archive::ApplyReport& report) {
  nlohmann::ordered_json out = {
      {"entries", report.entries},
      {"directories", report.directories},
      {"files", report.files},
      {"hard_links", report.hard_links},
      {"symlinks", report.symlinks},
      {"specials", report.specials},
      {"whiteouts", report.whiteouts},
      {"skipped", report.skipped},
      {"bytes", report.bytes},
      {"bytes_in", report.bytes_in},
      {"bytes_out", report.bytes_out},
      {"diff_id", report.diff_id.text()},
      {"digest", report.digest.text()},
      {"dropped_xattrs", report.dropped_xattrs},
      {"workers", report.workers},
      {"seconds", report.seconds.count()},
      {"forgiven",
       {{"owners", report.forgiven_owners},
        {"xattrs", report.forgiven_xattrs},
        {"specials", report.forgiven_specials},
        {"modes", report.forgiven_modes},
        {"first", report.first_forgiven}}},
  };
  return out.dump() + "\n";
}

}  // namespace lamina::cli
