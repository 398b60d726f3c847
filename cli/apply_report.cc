#include "cli/apply_report.h"

#include <algorithm>
#include <utility>

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

// What was made, and what was lost on the way.
std::string made_text(const archive::ApplyReport& report) {
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
  if (report.copied_up != 0) {
    out += report_line("copied up",
                       with_commas(report.copied_up) + " files for links");
  }
  if (report.dropped_xattrs != 0) {
    out += report_line("dropped",
                       with_commas(report.dropped_xattrs) + " attributes");
  }
  return out + forgiven_text(forgiven_of(report));
}

nlohmann::ordered_json json_of(const archive::ApplyReport& report) {
  return {
      {"entries", report.entries},
      {"directories", report.directories},
      {"files", report.files},
      {"hard_links", report.hard_links},
      {"symlinks", report.symlinks},
      {"specials", report.specials},
      {"whiteouts", report.whiteouts},
      {"copied_up", report.copied_up},
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
}

// All layers as one.
archive::ApplyReport sum_of(const archive::UnpackReport& report) {
  using Count = uint64_t archive::ApplyReport::*;
  using R = archive::ApplyReport;
  constexpr Count kCounts[] = {
      &R::entries,           &R::files,
      &R::directories,       &R::symlinks,
      &R::hard_links,        &R::specials,
      &R::whiteouts,         &R::skipped,
      &R::copied_up,         &R::bytes,
      &R::bytes_in,          &R::bytes_out,
      &R::dropped_xattrs,    &R::forgiven_owners,
      &R::forgiven_xattrs,   &R::forgiven_modes,
      &R::forgiven_specials,
  };
  archive::ApplyReport out;
  for (const archive::ApplyReport& layer : report.layers) {
    for (Count count : kCounts) {
      out.*count += layer.*count;
    }
    if (out.first_forgiven.empty()) {
      out.first_forgiven = layer.first_forgiven;
    }
    out.workers = std::max(out.workers, layer.workers);
  }
  return out;
}

}  // namespace

std::string apply_report_text(const archive::ApplyReport& report) {
  std::string out =
      made_text(report) + report_line("diffID", report.diff_id.text());
  if (report.digest != report.diff_id) {
    out += report_line("digest", report.digest.text());
  }
  return out +
         report_line("time", time_text(report.seconds.count(), report.workers));
}

std::string apply_report_json(const archive::ApplyReport& report) {
  return json_of(report).dump() + "\n";
}

std::string unpack_report_text(const archive::Image& image,
                               const archive::UnpackReport& report) {
  const archive::ApplyReport sum = sum_of(report);
  std::string out;
  if (image.manifest) {
    out += report_line("manifest", image.manifest->text());
  }
  out += report_line("config", image.config.text());
  out += report_line("platform", escape_name(image.platform.text()));
  out += report_line("layers", with_commas(report.layers.size()));
  return out + made_text(sum) +
         report_line("time", time_text(report.seconds.count(), sum.workers));
}

std::string unpack_report_json(const archive::Image& image,
                               const archive::UnpackReport& report) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const archive::ApplyReport& layer : report.layers) {
    layers.push_back(json_of(layer));
  }
  nlohmann::ordered_json out = {
      {"manifest", nullptr},
      {"config", image.config.text()},
      {"platform", escape_name(image.platform.text())},
      {"seconds", report.seconds.count()},
      {"layers", std::move(layers)},
  };
  if (image.manifest) {
    out["manifest"] = image.manifest->text();
  }
  return out.dump() + "\n";
}

}  // namespace lamina::cli
