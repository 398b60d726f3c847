// Counts a tree's entries by listing alone, as the total of a progress bar.
#pragma once

#include <cstdint>
#include <stop_token>

#include "base/error.h"
#include "base/fd.h"
#include "copy/options.h"

namespace lamina::cli {

// The number of entries below `root`, which is not counted itself. One thread,
// no stat of any file. ECANCELED when stopped.
Result<uint64_t> count_entries(const Fd& root, copy::Crossing crossing,
                               std::stop_token stop);

}  // namespace lamina::cli
