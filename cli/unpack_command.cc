// `lamina unpack`: every layer of an image in one tree, with progress, and
// reported.
#include <cerrno>
#include <utility>

#include <CLI/CLI.hpp>

#include "archive/unpack.h"
#include "base/kernel.h"
#include "base/path.h"
#include "cli/apply_report.h"
#include "cli/apply_request.h"
#include "cli/command.h"
#include "cli/layer_work.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"

namespace lamina::cli {

namespace {

constexpr const char* kAbout = "Unpack every layer of an image into ROOT";

constexpr const char* kMore =
    R"(LAYOUT is an OCI image layout, as skopeo, buildah and umoci write it: a
directory, or an archive (a tar that is not packed); or what `docker save`
writes. REF is the image's reference or tag, needed where there are several.
Of an image for several platforms this machine's is taken. ROOT must not exist,
or be an empty directory. The size and the digest of everything are checked. A
failure, or Ctrl-C, removes what was made.

Examples:
  lamina unpack busybox rootfs
      The only image in the layout `busybox`.
  lamina unpack images:debian-12 rootfs
      The image that the layout `images` calls debian-12.
  docker save busybox -o b.tar && lamina unpack b.tar rootfs
      From an engine's own store.
  lamina unpack --platform linux/arm64 images:debian-12 rootfs
      For another machine.)";

class UnpackCommand final : public Command {
 public:
  CLI::App& declare(CLI::App& app) override;
  std::optional<std::string> check() override;
  Result<void> run() override;

 private:
  Result<void> open_layout();
  Result<archive::UnpackReport> unpack(StopOnSignals& signals);

  ApplyWords words_;
  std::string platform_word_;
  bool json_ = false;
  archive::ApplyOptions options_;
  archive::Platform platform_;
  Fd layout_;
  std::string path_;
  std::string reference_;
  archive::Image image_;
};

CLI::App& UnpackCommand::declare(CLI::App& app) {
  CLI::App& sub = *app.add_subcommand("unpack", kAbout);
  sub.add_option("LAYOUT[:REF]", words_.layer, "The image")
      ->required()
      ->type_name("");
  sub.add_option("ROOT", words_.root, "What to make: new, or empty")
      ->required()
      ->type_name("");
  sub.add_option("--platform", platform_word_,
                 "OS/ARCHITECTURE[/VARIANT]; default: this machine's")
      ->type_name("NAME");
  declare_layer_options(sub, words_);
  sub.add_flag("--json", json_, "Print the report as one JSON object");
  sub.footer(kMore);
  return sub;
}

std::optional<std::string> UnpackCommand::check() {
  auto options = parse_apply(words_);
  if (!options) {
    return options.error();
  }
  options_ = std::move(*options);
  platform_ = archive::host_platform();
  if (!platform_word_.empty()) {
    auto platform = archive::Platform::parse(platform_word_);
    if (!platform) {
      return "--platform '" + escape_name(platform_word_) + "': it is " +
             "OS/ARCHITECTURE or OS/ARCHITECTURE/VARIANT";
    }
    platform_ = *platform;
  }
  return std::nullopt;
}

// A path may hold colons, and so may a reference: the shortest path that is
// there counts, after the whole.
Result<void> UnpackCommand::open_layout() {
  const std::string& word = words_.layer;
  auto whole = open_blob(word);
  path_ = word;
  for (size_t colon = word.find(':', 1); !whole && colon != std::string::npos;
       colon = word.find(':', colon + 1)) {
    auto part = open_blob(word.substr(0, colon));
    if (part) {
      path_ = word.substr(0, colon);
      reference_ = word.substr(colon + 1);
      whole = std::move(part);
    }
  }
  TRY_ASSIGN(layout_, std::move(whole));
  return {};
}

Result<archive::UnpackReport> UnpackCommand::unpack(StopOnSignals& signals) {
  Kernel& kernel = real_kernel();
  TRY(open_layout());
  TRY_ASSIGN(std::unique_ptr<archive::BlobStore> store,
             archive::open_store(kernel, std::move(layout_), path_));
  TRY_ASSIGN(image_,
             archive::find_image(kernel, *store, reference_, platform_));
  TRY_ASSIGN(NamePlace root, open_parent(kernel, words_.root));
  uint64_t total = 0;
  for (const archive::ImageLayer& layer : image_.layers) {
    total += layer.size;
  }
  copy::Progress progress;
  options_.stop = signals.token();
  options_.bytes_in = &progress.bytes;
  ProgressBar bar(
      "unpacking", progress, [total](const std::stop_token&) { return total; },
      Measure::bytes);
  auto report = archive::unpack_image(*store, image_, root, options_);
  options_.bytes_in = nullptr;
  if (!report) {
    return fail(explain_stop(std::move(report.error()), "unpack", words_.root,
                             signals));
  }
  return report;
}

Result<void> UnpackCommand::run() {
  StopOnSignals signals("what was made is left in '" +
                        escape_name(words_.root) + "'");
  TRY_ASSIGN(archive::UnpackReport report, unpack(signals));
  return say(json_ ? unpack_report_json(image_, report)
                   : unpack_report_text(image_, report));
}

}  // namespace

std::unique_ptr<Command> make_unpack_command() {
  return std::make_unique<UnpackCommand>();
}

}  // namespace lamina::cli
