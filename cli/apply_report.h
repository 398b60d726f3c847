// How layers were applied, for people and for programs. Pure.
#pragma once

#include <string>

#include "archive/apply.h"
#include "archive/image.h"
#include "archive/unpack.h"

namespace lamina::cli {

// A few aligned lines.
std::string apply_report_text(const archive::ApplyReport& report);

// One JSON object on one line, with the keys that the manual lists.
std::string apply_report_json(const archive::ApplyReport& report);

// The same of an image and its layers.
std::string unpack_report_text(const archive::Image& image,
                               const archive::UnpackReport& report);
std::string unpack_report_json(const archive::Image& image,
                               const archive::UnpackReport& report);

}  // namespace lamina::cli
