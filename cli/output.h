// What the program says: reports on standard output, complaints on standard
// error. The only place in cli/ that writes to either, apart from the progress
// bar and the last words of a second signal.
#pragma once

#include <string_view>

#include "base/error.h"

namespace lamina::cli {

// Writes a whole report to standard output. A full disk or a closed pipe is an
// error: a report that nobody could read is not a success.
Result<void> say(std::string_view text);

// The same to standard error, where standard output is taken.
Result<void> say_aside(std::string_view text);

// Writes "lamina: LINE" to standard error. Requires that what came from outside
// is escaped.
void complain(std::string_view line);

}  // namespace lamina::cli
