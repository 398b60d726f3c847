// How a batch went, for programs: one JSON object on one line, with the keys
// that the manual lists. Pure.
#pragma once

#include <string>

#include "copy/write_batch.h"

namespace lamina::cli {

std::string batch_json(const copy::BatchResult& result);

}  // namespace lamina::cli
