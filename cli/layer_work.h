// What `lamina apply` and `lamina unpack` have in common: their options, and
// how they tell of work that was stopped.
//
// One thread.
#pragma once

#include <string>
#include <string_view>

#include "archive/apply.h"
#include "base/error.h"
#include "base/fd.h"
#include "cli/apply_request.h"
#include "cli/signals.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the parser's.
class App;
}

namespace lamina::cli {

// Adds the options that both commands take.
void declare_layer_options(CLI::App& sub, ApplyWords& words);

// Opens a layer or an archive for reading; a fifo is not waited for, a symlink
// is followed. "-" is standard input.
Result<Fd> open_blob(const std::string& path);

// The bytes that a regular file still has to give; 0 for anything else.
uint64_t bytes_left(const Fd& fd);

// Work that was stopped says by what, and what became of the root.
Error explain_stop(Error error, std::string_view op, const std::string& root,
                   const StopOnSignals& signals);

}  // namespace lamina::cli
