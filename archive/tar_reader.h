// Reads a tar as the layers of images are: a pull parser whose entries and
// bodies are slices of the decoded stream.
//
// 1. while (auto entry = reader.next(); entry && *entry)
// 2.   while (auto piece = reader.next_body(); piece && *piece) ...
//
// Accepts v7, ustar, PAX, GNU and star headers, PAX records, GNU long names,
// base-256 numbers and every sparse encoding of GNU tar. It is strict: what it
// cannot be sure of is an error, and nothing is read twice in two ways. Checks
// are made before memory is taken, and it never takes more than the limits say.
// It does not know what an entry means for a tree: whiteouts, links in the way
// and what exists already are the applier's part.
//
// What engines do differently is decided so:
// - a PAX size counts, not the header's; links, directories, devices and fifos
//   have no body, whatever size they name;
// - of several PAX headers or long names before an entry the last counts,
// whole;
//   GNU sparse names go before GNU long names, these before PAX paths;
// - global PAX headers are checked and then ignored; so are user names;
// - type '0' with a slash at its end is a file, type NUL a directory; '7' is a
//   file; types without a meaning here are errors;
// - the archive ends at a block edge with nothing, one zero block or two; one
//   zero block with something behind it is an error, and so is a PAX header or
//   long name with no entry behind it; what follows two zero blocks is ignored,
//   but read, so that the end of the stream is checked too.
//
// Not for more than one thread at a time. It keeps the slab it reads in, and
// the one where the current entry's header lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "archive/slab.h"
#include "archive/sparse.h"
#include "archive/tar_blocks.h"
#include "archive/tar_entry.h"
#include "archive/tar_fields.h"
#include "archive/tar_header.h"
#include "archive/tar_name.h"
#include "base/error.h"

namespace lamina::archive {

struct TarLimits {
  NameLimits names = {};
  // Of one PAX header, GNU long name or long link.
  uint64_t meta_bytes = uint64_t{1} << 20;
  // Of one sparse map.
  size_t sparse_runs = size_t{1} << 16;
  // Of one file, holes counted.
  uint64_t file_bytes = std::numeric_limits<int64_t>::max();
  // Of the archive.
  uint64_t entries = std::numeric_limits<uint64_t>::max();
};

// A piece of a file's body: `slice.bytes` belong at `offset` of the file.
struct BodyPiece {
  Slice slice;
  uint64_t offset = 0;
};

class TarReader {
 public:
  // The stream must outlive the reader.
  explicit TarReader(SliceStream& stream, const TarLimits& limits = {});

  // The next entry, past what is left of the body before. Nothing at the end of
  // the archive, and then the stream was read to its end. Errors name the entry
  // as far as it is known, and where it is. After one nothing more can be read.
  Result<std::optional<TarEntry>> next();

  // The next piece of the current entry's body, in order, never empty: as much
  // as lies in one slab and in one run of the file. Nothing at the end of the
  // body. Where pieces leave gaps, and behind the last, the file has holes.
  Result<std::optional<BodyPiece>> next_body();

  // How many bytes of the stream were read.
  uint64_t position() const { return blocks_.position(); }

  // How many entries were given out.
  uint64_t entries() const { return ordinal_; }

 private:
  // The meta headers before an entry: slices of the current slab, or of the
  // store.
  struct Meta {
    std::optional<std::string_view> pax;
    std::optional<std::string_view> long_name;
    std::optional<std::string_view> long_link;

    bool any() const { return pax || long_name || long_link; }
  };

  // What is being read, for errors: the best name known and where its header
  // is, with what keeps that name alive.
  struct Subject {
    std::string_view name;
    uint64_t ordinal = 0;
    uint64_t at = 0;
    SlabRef slab;
    std::shared_ptr<const TarText> text;
  };

  // The rest of the current entry's body.
  struct Body {
    uint64_t left = 0;
    uint64_t padding = 0;
    // Where in the file the next byte belongs.
    uint64_t offset = 0;
    // Of a sparse file: its runs, and the next of them.
    std::optional<SparseRuns> runs;
    size_t next_run = 0;
    uint64_t run_left = 0;
  };

  Result<std::optional<TarEntry>> read_entry();
  Result<std::optional<std::string_view>> next_header();
  Result<void> end_archive();
  Result<void> read_meta(const TarHeader& header);
  Result<std::string_view> read_meta_body(uint64_t size,
                                          std::string TarText::*place);
  void keep_meta();
  Result<TarEntry> make_entry(std::string_view block, const TarHeader& header);
  Result<void> set_body(const TarParts& parts, TarEntry& entry);
  Error named(Error error) const;

  TarBlocks blocks_;
  const TarLimits limits_;
  Meta meta_;
  TextStore store_;
  Subject subject_;
  Body body_;
  uint64_t ordinal_ = 0;
  bool ended_ = false;
  // Why nothing more can be read.
  std::optional<Error> failed_;
};

}  // namespace lamina::archive
