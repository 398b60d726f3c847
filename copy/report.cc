#include "copy/report.h"

#include <array>
#include <utility>

namespace lamina::copy {

namespace {

constexpr std::array kCounts{
    &Report::directories,
    &Report::reflinked,
    &Report::linked,
    &Report::copied_by_range,
    &Report::copied_by_read_write,
    &Report::empty_files,
    &Report::links_recreated,
    &Report::link_fallbacks,
    &Report::symlinks,
    &Report::specials,
    &Report::bytes_logical,
    &Report::bytes_written,
    &Report::forgiven_owners,
    &Report::forgiven_xattrs,
    &Report::forgiven_specials,
    &Report::forgiven_modes,
};

}  // namespace

void Counters::add(Tally& tally) {
  std::lock_guard lock(mutex_);
  for (auto count : kCounts) {
    sum_.*count += std::exchange(tally.*count, 0);
  }
  if (sum_.first_forgiven.empty()) {
    sum_.first_forgiven = std::move(tally.first_forgiven);
  }
  tally.first_forgiven.clear();
}

void Counters::forgive(Tally& tally, uint64_t Tally::*which,
                       const Error& error) {
  ++(tally.*which);
  if (tally.first_forgiven.empty()) {
    tally.first_forgiven = error.message();
  }
}

Report Counters::get() const {
  std::lock_guard lock(mutex_);
  return sum_;
}

}  // namespace lamina::copy
