// `lamina probe`: what copying into a directory can keep and share.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/kernel.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/report_text.h"
#include "cli/signals.h"
#include "copy/probe.h"

namespace lamina::cli {

namespace {

constexpr const char* kAbout =
    "Find out what the file system of a directory can do";

constexpr const char* kMore =
    R"(Everything is tried in a temporary directory made in DIR, which is removed
again, and answered for the user who asks: devices and trusted.* attributes, for
example, are root's.

Examples:
  lamina probe /var/lib/layers
  lamina probe --json . | jq .reflink)";

std::string_view advice(copy::Sharing best) {
  switch (best) {
    case copy::Sharing::reflink:
      return "auto: files share their blocks until one is changed";
    case copy::Sharing::hardlink:
      return "auto copies all bytes; hardlink shares files nobody changes";
    case copy::Sharing::automatic:
    case copy::Sharing::content:
      break;
  }
  return "auto: all bytes are copied, nothing can be shared";
}

std::string row(std::string_view name, std::string_view value) {
  std::string out = "  " + std::string(name);
  out.append(out.size() < 31 ? 31 - out.size() : 1, ' ');
  return out + std::string(value) + "\n";
}

std::string free_of(uint64_t free, uint64_t total) {
  return with_commas(free) + " of " + with_commas(total) + " free";
}

std::string text_of(const copy::ProbeReport& report) {
  std::string out = row("file system", to_string(report.kind));
  for (const copy::Finding& finding : report.findings) {
    std::string value = finding.can == copy::Can::yes ? "yes" : "no";
    if (!finding.why.empty()) {
      value += ": " + finding.why;
    }
    out += row(finding.about, value);
  }
  out += row("space", human_bytes(report.bytes_free) + " of " +
                          human_bytes(report.bytes_total) + " free");
  out += row("inodes", report.inodes_total == 0
                           ? "as many as fit"
                           : free_of(report.inodes_free, report.inodes_total));
  return out + row("mode", advice(report.best));
}

std::string json_of(const copy::ProbeReport& report) {
  nlohmann::ordered_json out = {
      {"file_system", std::string(to_string(report.kind))}};
  for (const copy::Finding& finding : report.findings) {
    out[std::string(finding.name)] = finding.can == copy::Can::yes;
  }
  out["bytes_free"] = report.bytes_free;
  out["bytes_total"] = report.bytes_total;
  out["inodes_free"] = report.inodes_free;
  out["inodes_total"] = report.inodes_total;
  out["mode"] = std::string(to_string(report.best));
  return out.dump() + "\n";
}

class ProbeCommand final : public Command {
 public:
  CLI::App& declare(CLI::App& app) override {
    CLI::App& sub = *app.add_subcommand("probe", kAbout);
    sub.add_option("DIR", dir_, "A directory that can be written to")
        ->required()
        ->type_name("");
    sub.add_flag("--json", json_, "Print the answers as one JSON object");
    sub.footer(kMore);
    return sub;
  }

  std::optional<std::string> check() override {
    if (dir_.empty()) {
      return "DIR must not be empty";
    }
    return std::nullopt;
  }

  Result<void> run() override {
    // A signal waits until the temporary directory is gone.
    StopOnSignals signals("a directory .lamina-probe-* may be left in '" +
                          escape_name(dir_) + "'");
    TRY_ASSIGN(Fd dir, open_directory(real_kernel(), dir_));
    TRY_ASSIGN(copy::ProbeReport report, copy::probe(dir, dir_));
    return say(json_ ? json_of(report) : text_of(report));
  }

 private:
  std::string dir_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_probe_command() {
  return std::make_unique<ProbeCommand>();
}

}  // namespace lamina::cli
