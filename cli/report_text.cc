#include "cli/report_text.h"

#include <array>
#include <cstdio>
#include <utility>
#include <vector>

namespace lamina::cli {

namespace {

using copy::Report;

std::string number(const char* format, double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string files(const Report& report) {
  uint64_t all = report.reflinked + report.linked + report.copied_by_range +
                 report.copied_by_read_write + report.empty_files;
  return made_how(all, {{report.reflinked, "reflinked"},
                        {report.linked, "linked to SRC"},
                        {report.copied_by_range, "copied by the kernel"},
                        {report.copied_by_read_write, "read and written"},
                        {report.empty_files, "empty"}});
}

}  // namespace

std::string report_line(std::string_view name, std::string_view value) {
  std::string out = "  " + std::string(name);
  out.append(out.size() < 18 ? 18 - out.size() : 1, ' ');
  return out + std::string(value) + "\n";
}

std::string made_how(
    uint64_t all,
    const std::vector<std::pair<uint64_t, std::string_view>>& ways) {
  std::string how;
  for (const auto& [count, way] : ways) {
    if (count != 0) {
      how += (how.empty() ? "" : ", ") + with_commas(count) + " " +
             std::string(way);
    }
  }
  return with_commas(all) + (how.empty() ? "" : " (" + how + ")");
}

std::string forgiven_text(const Report& report) {
  uint64_t all = report.forgiven_owners + report.forgiven_xattrs +
                 report.forgiven_specials + report.forgiven_modes;
  if (all == 0) {
    return "";
  }
  return report_line("forgiven",
                     made_how(all, {{report.forgiven_owners, "owners"},
                                    {report.forgiven_xattrs, "attributes"},
                                    {report.forgiven_specials, "devices"},
                                    {report.forgiven_modes, "set-id bits"}})) +
         report_line("  the first", report.first_forgiven);
}

std::string time_text(double seconds, unsigned workers) {
  return number("%.3f s", seconds) + " with " + std::to_string(workers) +
         (workers == 1 ? " worker" : " workers");
}

std::string with_commas(uint64_t value) {
  std::string out = std::to_string(value);
  for (size_t at = out.size(); at > 3;) {
    at -= 3;
    out.insert(at, ",");
  }
  return out;
}

std::string human_bytes(uint64_t bytes) {
  if (bytes < 1024) {
    return std::to_string(bytes) + " B";
  }
  auto value = static_cast<double>(bytes);
  for (const char* unit : {"KiB", "MiB", "GiB", "TiB", "PiB"}) {
    value /= 1024;
    if (value < 1023.95) {
      return number("%.1f ", value) + unit;
    }
  }
  return number("%.1f EiB", value / 1024);
}

std::string report_text(const Report& report,
                        std::optional<uint64_t> verified) {
  std::string out =
      report_line("directories", with_commas(report.directories)) +
      report_line("files", files(report));
  if (report.links_recreated != 0) {
    out += report_line("hard links", with_commas(report.links_recreated));
  }
  if (report.symlinks != 0) {
    out += report_line("symlinks", with_commas(report.symlinks));
  }
  if (report.specials != 0) {
    out += report_line("special files", with_commas(report.specials));
  }
  if (report.link_fallbacks != 0) {
    out += report_line("not linkable",
                       with_commas(report.link_fallbacks) + " copied instead");
  }
  out +=
      report_line("bytes", human_bytes(report.bytes_logical) + ", " +
                               human_bytes(report.bytes_written) + " written");
  out += forgiven_text(report);
  if (verified) {
    out += report_line("verified",
                       with_commas(*verified) + ", all as in the source");
  }
  out += report_line("time", time_text(report.seconds.count(), report.workers));
  return out;
}

}  // namespace lamina::cli
