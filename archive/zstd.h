// zstd, RFC 8878, by libzstd: frames and skippable frames in any order.
#pragma once

#include <memory>

#include "archive/decompress.h"
#include "archive/input.h"

namespace lamina::archive {

// See make_decoder(). A frame that asks for a larger window than
// 2^window_log bytes is an error; no memory is taken for it.
std::unique_ptr<Decoder> make_zstd_decoder(Input& input, int window_log);

}  // namespace lamina::archive
