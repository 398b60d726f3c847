// Whole directories and whole files, bounded, as values.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace lamina::cache {

// The names in a freshly opened directory, in the kernel's order. Reads on
// until there are more than `most`, and then no further. `subject` names the
// directory in errors.
Result<std::vector<std::string>> read_names(
    const Fd& dir, std::string_view subject,
    size_t most = std::numeric_limits<size_t>::max());

// The bytes of an open file from where its offset is. EFBIG when there are more
// than `most`. `subject` names it in errors.
Result<std::string> read_all(const Fd& file, std::string_view subject,
                             size_t most);

}  // namespace lamina::cache
