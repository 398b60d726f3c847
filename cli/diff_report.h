// How a diff was written, for people and for programs. Pure.
#pragma once

#include <string>

#include "archive/diff.h"

namespace lamina::cli {

// A few aligned lines.
std::string diff_report_text(const archive::DiffReport& report);

// One JSON object on one line, with the keys that the manual lists.
std::string diff_report_json(const archive::DiffReport& report);

}  // namespace lamina::cli
