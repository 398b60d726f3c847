// Reports for programs: one JSON object on one line, with the keys that the
// manual lists. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "copy/report.h"

namespace lamina::cli {

// `verified`: how many entries were compared with the source afterwards.
std::string report_json(const copy::Report& report,
                        std::optional<uint64_t> verified);

}  // namespace lamina::cli
