#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <system_error>
#include <utility>

#include "cli/report_text.h"

namespace lamina::cli {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kCountAfter{500};
constexpr milliseconds kDrawAfter{1000};
constexpr milliseconds kDrawEvery{100};
constexpr unsigned kUsualColumns = 80;
constexpr unsigned kWidestBar = 30;

// Sleeps; false when asked to stop meanwhile.
bool rest(const std::stop_token& stop, milliseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

unsigned terminal_columns() {
  struct winsize size {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    return kUsualColumns;
  }
  return size.ws_col;
}

void write_terminal(const std::string& text) {
  // A terminal that went away takes nothing from the work.
  [[maybe_unused]] ssize_t ignored =
      ::write(STDERR_FILENO, text.data(), text.size());
}

std::string rate(const ProgressState& state) {
  if (state.seconds <= 0) {
    return "";
  }
  if (state.measure == Measure::bytes) {
    return "  " +
           human_bytes(static_cast<uint64_t>(static_cast<double>(state.bytes) /
                                             state.seconds)) +
           "/s";
  }
  auto per_second = [&state](uint64_t amount) {
    return static_cast<uint64_t>(static_cast<double>(amount) / state.seconds);
  };
  if (state.bytes == 0) {
    return "  " + with_commas(per_second(state.entries)) + "/s";
  }
  return "  " + human_bytes(state.bytes) + "  " +
         human_bytes(per_second(state.bytes)) + "/s";
}

}  // namespace

std::string progress_line(const ProgressState& state, unsigned columns) {
  const bool bytes = state.measure == Measure::bytes;
  const uint64_t done = bytes ? state.bytes : state.entries;
  auto amount = [bytes](uint64_t value) {
    return bytes ? human_bytes(value) : with_commas(value);
  };
  if (state.total == 0) {
    std::string line = std::string(state.verb) + "  " + amount(done) +
                       (bytes ? "" : " entries") + rate(state);
    return line.substr(0, columns);
  }
  // The tree may grow after it was counted.
  uint64_t total = std::max(state.total, done);
  double share = static_cast<double>(done) / static_cast<double>(total);
  std::array<char, 16> percent{};
  std::snprintf(percent.data(), percent.size(), " %3d%% ",
                static_cast<int>(share * 100));
  std::string before = std::string(state.verb) + percent.data();
  std::string after = " " + amount(done) + " of " + amount(total) + rate(state);
  std::string bar;
  size_t taken = before.size() + after.size() + 2;
  if (taken + 4 <= columns) {
    size_t width = std::min<size_t>(columns - taken, kWidestBar);
    auto full = static_cast<size_t>(share * static_cast<double>(width));
    bar = "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
  }
  return (before + bar + after).substr(0, columns);
}

ProgressBar::ProgressBar(std::string verb, const copy::Progress& progress,
                         Total total, Measure measure)
    : verb_(std::move(verb)),
      progress_(progress),
      measure_(measure) {
  if (::isatty(STDERR_FILENO) != 1) {
    return;
  }
  try {
    drawer_ = std::jthread([this](const std::stop_token& stop) { draw(stop); });
    counter_ =
        std::jthread([this, total = std::move(total)](
                         const std::stop_token& stop) { count(stop, total); });
  } catch (const std::system_error&) {
    // No thread to be had: the work goes on, unseen.
  }
}

void ProgressBar::count(const std::stop_token& stop, const Total& total) {
  if (total && rest(stop, kCountAfter)) {
    total_ = total(stop);
  }
}

void ProgressBar::draw(const std::stop_token& stop) {
  const auto begun = Clock::now();
  if (!rest(stop, kDrawAfter)) {
    return;
  }
  do {
    std::chrono::duration<double> since = Clock::now() - begun;
    ProgressState state{verb_,
                        progress_.entries.load(),
                        progress_.bytes.load(),
                        total_.load(),
                        since.count(),
                        measure_};
    // The last column stays free: some terminals wrap when it is written.
    write_terminal("\r" + progress_line(state, terminal_columns() - 1) +
                   "\x1b[K");
  } while (rest(stop, kDrawEvery));
  write_terminal("\r\x1b[K");
}

}  // namespace lamina::cli
