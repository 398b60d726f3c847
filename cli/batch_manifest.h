// The manifest of `lamina write`: a JSON array of outputs, or JSON lines.
//
//   {"path": "a/b", "data": "text"}
//   {"path_b64": "Y2Fm6Q==", "data_b64": "AAH/", "mode": "755"}
//   {"path": "c", "from": "/build/c", "mode": 493}
//
// An output has one of `path` and `path_b64`, one of `data`, `data_b64` and
// `from`, and perhaps a `mode`: a string of octal digits, or a number, which is
// the mode itself (493 is 0755). Anything else is refused: a word that is
// misspelt would be a file that is wrong. Read as a stream: what is held is the
// outputs, decoded, and one line or token of text.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "copy/write_batch.h"

namespace lamina::cli {

struct ManifestOutput {
  std::string path;
  std::string data;
  std::string from;  // Empty: `data` is the content.
  std::optional<mode_t> mode;
};

struct Manifest {
  std::vector<ManifestOutput> outputs;
  // What is wrong, and with which output; those before it are in `outputs`.
  struct Fault {
    size_t index = 0;
    std::string text;
  };
  std::optional<Fault> fault;

  // Entries that refer to this manifest, which must outlive them unchanged.
  std::vector<copy::BatchEntry> entries() const;
};

struct ManifestLimits {
  size_t outputs = 16'000'000;
  // Of names and contents together, decoded.
  uint64_t bytes = uint64_t{16} << 30U;
};

// Reads a whole manifest. Where the stream cannot be read to its end, it says
// so as any std::istream, and what came until then was parsed.
Manifest read_manifest(std::istream& in, const ManifestLimits& limits = {});

}  // namespace lamina::cli
