// Reports for people: a few aligned lines. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "copy/report.h"

namespace lamina::cli {

// How a copy was done. `verified`: how many entries were compared with the
// source afterwards.
std::string report_text(const copy::Report& report,
                        std::optional<uint64_t> verified);

// 1234567 -> "1,234,567".
std::string with_commas(uint64_t number);

// 1536 -> "1.5 KiB".
std::string human_bytes(uint64_t bytes);

}  // namespace lamina::cli
