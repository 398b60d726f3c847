// How layers were applied, for people and for programs. Pure.
#pragma once

#include <string>

#include "archive/apply.h"

namespace lamina::cli {

// A few aligned lines.
std::string apply_report_text(const archive::ApplyReport& report);

// One JSON object on one line, with the keys that the manual lists.
std::string apply_report_json(const archive::ApplyReport& report);

}  // namespace lamina::cli
