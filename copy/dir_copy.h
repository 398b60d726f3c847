// DirCopy: makes a directory the copy of a tree, with nothing lost.
//
// Hard links within the tree are recreated, for every type of file; owner,
// mode, extended attributes, times, devices, holes and names of any bytes are
// kept. Bytes are shared where the file system lets them be (reflink, then hard
// link, then copy, as Options::sharing allows). The work is done by the calling
// thread and by the pool that all requests of the process share. Nothing
// process-wide is changed (umask, working directory, signals, limits, locale)
// and nothing is logged. Safe to call from any number of threads at once.
//
// Inode flags (chattr(1)), project ids and birth times are not kept.
//
//   auto report = lamina::copy::dir_copy("/layers/base", "/tmp/root");
//   if (!report) { std::cerr << report.error().message() << '\n'; }
#pragma once

#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "copy/options.h"
#include "copy/report.h"

namespace lamina::copy {

// Copies the tree at `source` to `destination`, which must be absent or an
// empty directory. Both are paths as a person gives them; they are resolved
// once.
//
// Fails with the first error in walk order (byte order of names, a directory
// before its children), at any number of workers; with the earliest seen where
// a resource ran out (ENOSPC, EDQUOT, EMFILE, ENOMEM) or the stop token was
// used (ECANCELED). A failed copy leaves nothing: what it made is removed, an
// empty directory that was there is as it was (Leftovers::kept keeps it
// instead). Errors name paths relative to the tree; the trees themselves as
// given.
Result<Report> dir_copy(std::string_view source, std::string_view destination,
                        const Options& options = {});

// The same for callers that hold descriptors. `shown` names the source in
// errors.
Result<Report> dir_copy(const Fd& source, std::string_view shown,
                        const NamePlace& destination,
                        const Options& options = {});

}  // namespace lamina::copy
