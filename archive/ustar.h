// The headers of an entry as bytes: one ustar block, with a PAX header before
// it where that block cannot say everything. The rules are in tar_writer.h.
//
// A pure function of the entry, free for any thread.
#pragma once

#include <string>

#include "archive/tar_entry.h"
#include "base/error.h"

namespace lamina::archive {

// Fails as TarWriter::add() says; the error's text is the reason, its subject
// is left to the caller.
Result<std::string> make_ustar_headers(const TarEntry& entry);

}  // namespace lamina::archive
