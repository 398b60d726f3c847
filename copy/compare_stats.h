// Compares what stat(2) tells of an inode with what it tells of its copy. Pure.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "copy/options.h"

namespace lamina::copy {

// What differs, by the options the copy was made with: kind (and then nothing
// else), device number, owner, mode, time of modification. Sizes are compared
// with the bytes.
std::vector<std::string> compare_stats(const struct stat& source,
                                       const struct stat& copy,
                                       const Options& options);

}  // namespace lamina::copy
