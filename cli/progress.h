// A progress bar on standard error, for work that takes over a second.
//
// Only on a terminal, and gone when it ends; in a pipe nothing is ever written.
// While it lives, nobody else may write to the terminal.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "copy/report.h"

namespace lamina::cli {

// What the work is measured in.
enum class Measure { entries, bytes };

// One drawing of the bar.
struct ProgressState {
  std::string_view verb;  // "copying"
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t total = 0;  // Of what it is measured in; 0 while unknown.
  double seconds = 0;  // Since the work began.
  Measure measure = Measure::entries;
};

// The line to draw, at most `columns` wide, without control characters.
std::string progress_line(const ProgressState& state, unsigned columns);

class ProgressBar {
 public:
  // Finds out how much there is to come, 0 for nobody knows. Called once, on a
  // thread of its own, when the work has not ended soon.
  using Total = std::function<uint64_t(std::stop_token)>;

  // `progress` must outlive this.
  ProgressBar(std::string verb, const copy::Progress& progress, Total total,
              Measure measure = Measure::entries);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar() = default;  // The threads are asked to stop and joined.

 private:
  void count(const std::stop_token& stop, const Total& total);
  void draw(const std::stop_token& stop);

  const std::string verb_;
  const copy::Progress& progress_;
  const Measure measure_;
  std::atomic<uint64_t> total_{0};
  std::jthread counter_;
  std::jthread drawer_;
};

}  // namespace lamina::cli
