#include "cli/cache_get.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/kernel.h"
#include "base/path.h"
#include "cache/read.h"
#include "cli/cache_report.h"
#include "cli/output.h"

namespace lamina::cli {

namespace {

constexpr size_t kMostLineBytes = size_t{1} << 20;

// A file given by its path, whole.
Result<std::string> read_file(const std::string& path, size_t most) {
  Kernel& kernel = real_kernel();
  TRY_ASSIGN(NamePlace place, open_parent(kernel, path));
  Fd fd(kernel.openat(place.parent.get(), place.name.c_str(),
                      O_RDONLY | O_CLOEXEC | O_NOCTTY, 0));
  if (!fd.valid()) {
    return fail(last_error("open", path));
  }
  return cache::read_all(fd, path, most);
}

// Lines of standard input, without blocking for ever when asked to stop.
class Lines {
 public:
  // The next line without its end; false at the end of the input. The last one
  // need not be ended.
  Result<bool> next(std::string* line, const std::stop_token& stop) {
    for (;;) {
      size_t end = buffer_.find('\n', at_);
      if (end != std::string::npos || (ended_ && at_ < buffer_.size())) {
        *line = buffer_.substr(at_, end - at_);
        at_ = end == std::string::npos ? buffer_.size() : end + 1;
        return true;
      }
      if (ended_) {
        return false;
      }
      buffer_.erase(0, at_);
      at_ = 0;
      if (buffer_.size() > kMostLineBytes) {
        return fail(make_error(E2BIG, "read", "standard input",
                               "a line is longer than a mebibyte"));
      }
      TRY(wait(stop));
      TRY(fill());
    }
  }

 private:
  static Result<void> wait(const std::stop_token& stop) {
    constexpr int kPauseMs = 100;
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    while (::poll(&input, 1, kPauseMs) == 0) {
      if (stop.stop_requested()) {
        return fail(make_error(ECANCELED, "read", "standard input"));
      }
    }
    return {};
  }

  Result<void> fill() {
    std::array<char, 65536> bytes{};
    ssize_t n = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) {
      return fail(last_error("read", "standard input"));
    }
    ended_ = n == 0;
    buffer_.append(bytes.data(), n > 0 ? static_cast<size_t>(n) : 0);
    return {};
  }

  std::string buffer_;
  size_t at_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<cache::BlobSource*> CacheGetter::blobs_of(const std::string& path) {
  auto known = blobs_.find(path);
  if (known == blobs_.end()) {
    TRY_ASSIGN(Fd dir, open_directory(real_kernel(), path));
    known = blobs_.try_emplace(path, std::move(dir)).first;
  }
  return &known->second;
}

Result<cache::Answer> CacheGetter::get(const GetWords& words) {
  TRY_ASSIGN(NamePlace destination,
             open_parent(real_kernel(), words.destination));
  cache::Request request = {words.key, destination};
  // Checked with the other words.
  request.sharing = *parse_handing(words.mode);
  std::optional<cache::ManifestRecipe> recipe;
  if (!words.manifest.empty()) {
    TRY_ASSIGN(std::string json,
               read_file(words.manifest, cache::kMostManifestBytes));
    TRY_ASSIGN(archive::Digest digest, cache::digest_of(json));
    cache::BlobSource* blobs = nullptr;
    if (!words.blobs.empty()) {
      TRY_ASSIGN(blobs, blobs_of(words.blobs));
    }
    auto read = [json = std::move(json), &words] {
      return cache::parse_manifest(json, words.manifest);
    };
    request.recipe = &recipe.emplace(digest.text(), std::move(read), blobs);
  }
  return cache_.get(request);
}

Result<void> CacheGetter::answer(const std::string& line,
                                 const GetWords& defaults) {
  ++requests_;
  auto words = parse_get_line(line, defaults);
  if (!words) {
    ++failed_;
    return say(batch_refusal(words.error()));
  }
  auto answered = get(*words);
  failed_ += answered ? 0 : 1;
  return say(batch_answer(answered));
}

Result<void> CacheGetter::serve(const GetWords& defaults,
                                const std::stop_token& stop) {
  Lines lines;
  for (;;) {
    std::string line;
    TRY_ASSIGN(bool more, lines.next(&line, stop));
    if (!more) {
      break;
    }
    if (line.find_first_not_of(" \t\r") != std::string::npos) {
      TRY(answer(line, defaults));
    }
    if (stop.stop_requested()) {
      return fail(make_error(ECANCELED, "get", "standard input"));
    }
  }
  if (failed_ != 0) {
    return fail(make_error(0, "get", "standard input",
                           std::to_string(failed_) + " of " +
                               std::to_string(requests_) +
                               " requests failed, as their answers say"));
  }
  return {};
}

}  // namespace lamina::cli
