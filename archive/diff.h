// Writes the difference of two directory trees as a layer tarball: applied to
// LOWER it gives UPPER. With an empty LOWER it is all of UPPER.
//
// The same trees give the same bytes, anywhere and at any time: what a layer
// holds is in the order of names (changes.h), nothing else of the host, the
// clock or the file system gets in, and holes are zeros. Nothing that changed
// is one empty archive, 1024 zero bytes. As the engines write it (OCI image
// specification, layer.md):
// - a directory stands before what is in it, once, and never the root;
// - what is gone is an explicit whiteout ".wh.NAME", first among its siblings,
//   of mode 0, owner 0:0 and time 0; what became another kind of thing is that
//   thing, without a whiteout; opaque marks are not needed;
// - names of one inode are a file and hard links to it (link_groups.h);
// - a socket is left out, and what it stands in place of is gone.
// Times have nanoseconds where the tree has them. Attributes are those of
// ChangeOptions::xattrs.
//
// Changes nothing process-wide and logs nothing. Any number of threads may
// write at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "archive/changes.h"
#include "archive/digest.h"
#include "archive/tar_writer.h"
#include "base/error.h"
#include "base/fd.h"
#include "copy/options.h"

namespace lamina::archive {

struct DiffOptions {
  ChangeOptions changes = {};
  // What happens to an attribute that a tar cannot say: one without a value, or
  // with "=" in its name.
  copy::Loss loss = copy::Loss::refused;

  // Whether the archive's digest is wanted.
  enum class Hash { no, yes } hash = Hash::yes;

  // Counted up while the diff is written; may be null.
  std::atomic<uint64_t>* bytes_out = nullptr;
};

struct DiffReport {
  uint64_t entries = 0;  // In the archive, whiteouts counted.
  uint64_t files = 0;
  uint64_t directories = 0;
  uint64_t symlinks = 0;
  uint64_t hard_links = 0;
  uint64_t specials = 0;
  uint64_t whiteouts = 0;
  uint64_t sockets = 0;         // Left out.
  uint64_t dropped_xattrs = 0;  // Left out, with Loss::forgiven.
  std::string first_dropped;    // The first of them, in words.
  uint64_t bytes = 0;      // Of the files, as engines count a layer's size.
  uint64_t bytes_out = 0;  // Of the archive.
  std::optional<Digest> diff_id;
};

// Writes the archive to `sink`, piece by piece. Fails when a tree cannot be
// read, when what is read changes meanwhile, when `sink` fails, and for what no
// layer can hold: a name that begins with ".wh.", one that is too long (4095
// bytes) or too deep (1024 parts), an attribute as above.
//
// An archive cut off between two entries would pass for a whole one in most
// readers. So what was written when the diff failed ends inside a body or a
// header.
Result<DiffReport> write_diff(const Fd& lower, const Fd& upper,
                              const TarWriter::Sink& sink,
                              const DiffOptions& options = {});

}  // namespace lamina::archive
