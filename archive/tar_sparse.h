// The map of a sparse entry, wherever it is written: in the header and blocks
// behind it, in PAX records, or in front of the data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "archive/sparse.h"
#include "archive/tar_blocks.h"
#include "archive/tar_fields.h"
#include "base/error.h"

namespace lamina::archive {

struct TarSparse {
  SparseRuns runs;
  // Of the file, holes counted.
  uint64_t size = 0;
  // Of the body that is left in the stream.
  uint64_t stored = 0;
};

// Reads the map of a file whose body, as its header or PAX header says, has
// `stored` bytes; takes from `blocks` what belongs to the map. Nothing if the
// file is not sparse. Fails on a map that is not sound, on a sparse format it
// does not know, and on sparse records of what is not a file.
Result<std::optional<TarSparse>> read_sparse(TarBlocks& blocks,
                                             const TarParts& parts,
                                             EntryType type, uint64_t stored,
                                             size_t limit);

}  // namespace lamina::archive
