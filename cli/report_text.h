// Reports for people: a few aligned lines. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "copy/report.h"

namespace lamina::cli {

// How a copy was done. `verified`: how many entries were compared with the
// source afterwards.
std::string report_text(const copy::Report& report,
                        std::optional<uint64_t> verified);

// "  NAME            VALUE\n", the values of a report below each other.
std::string report_line(std::string_view name, std::string_view value);

// "12 (10 reflinked, 2 empty)"; ways that were not taken are left out.
std::string made_how(
    uint64_t all,
    const std::vector<std::pair<uint64_t, std::string_view>>& ways);

// What was forgiven, nothing if nothing was.
std::string forgiven_text(const copy::Report& report);

// "0.500 s with 2 workers".
std::string time_text(double seconds, unsigned workers);

// 1234567 -> "1,234,567".
std::string with_commas(uint64_t number);

// 1536 -> "1.5 KiB".
std::string human_bytes(uint64_t bytes);

}  // namespace lamina::cli
