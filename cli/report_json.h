// Reports for programs: one JSON object on one line, with the keys that the
// manual lists. Pure.
#pragma once

#include <string>

#include "copy/report.h"

namespace lamina::cli {

std::string report_json(const copy::Report& report);

}  // namespace lamina::cli
