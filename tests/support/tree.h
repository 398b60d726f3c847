// A tree of files as text: made from it, and read back into it.
//
//   TempDir temp;
//   make_tree(temp.path("src"), R"(
//     dir     .            mode=0750
//     dir     bin          owner=0:10 mtime=-1.500000000
//     file    bin/tool     mode=4755 text=hello\x0a xattr:user.note=a\x00b
//     file    bin/alias    link=1 text=shared
//     file    bin/second   link=1
//     file    big          size=100000 fill=7
//     file    sparse       size=1048576 data=0+4096,524288+4096
//     symlink bin/sh       -> ../bin/tool mtime=5.000000001
//     fifo    pipe         mode=0600
//     socket  run/sock
//     char    dev/null     dev=1:3 mode=0666
//     block   dev/loop     dev=7:0
//     file    odd\x0aname\xff
//   )");
//   ... copy temp.path("src") to temp.path("dst") ...
//   EXPECT_EQ(dump_tree(temp.path("src")), dump_tree(temp.path("dst")));
//
// A line is: kind, path, then fields in any order. Paths, targets, contents
// and attribute names and values write every byte as \xHH that is not
// printable ASCII, and space and backslash so too. Empty lines and lines that
// begin with # say nothing. Fields:
//   mode=OCTAL            default 0755 for directories, 0644 for the others;
//                         exact, whatever the umask
//   owner=UID:GID         default: the caller's
//   mtime=, atime=S.NNNNNNNNN   the two numbers of a timespec: -1.500000000 is
//                         half a second before 1970. Default: a time in 2001
//                         that no two lines share, so a lost one shows
//   text=BYTES            content
//   size=N                length; a hole beyond the content given
//   fill=SEED             `size` pseudo-random bytes
//   data=OFFSET+LENGTH,.. pseudo-random bytes in just these places, holes
//                         elsewhere
//   dev=MAJOR:MINOR       of a device
//   link=N                the first name with N makes the inode, each further
//                         one is a hard link to it and says nothing else
//   xattr:NAME=VALUE      an extended attribute
// Parents that no line names are made, mode 0755. `.` is the root.
//
// A dump has one line for each name, in walk order (names in byte order, a
// directory before what is in it), with the same fields; contents over 64
// bytes appear as a digest; `data` appears where a file has holes; link groups
// count only names inside the tree and are numbered in walk order. So
// make_tree(dump_tree(t)) is t again wherever no digest was needed.
//
// All of it is descriptor-relative: depth is not limited by PATH_MAX nor by
// the number of descriptors. Failures throw SupportError, saying line and
// reason. One thread per tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/descriptor.h"
#include "tests/support/random_tree.h"
#include "tests/support/temp_dir.h"

namespace lamina::test {

// Makes what `text` says in the directory `path`, which is made when missing.
void make_tree(const std::string& path, std::string_view text);
void make_tree(int directory, std::string_view text);

// Makes `depth` directories, each in the one before, and opens the last one.
Descriptor make_chain(int directory, std::size_t depth,
                      const std::string& name = "d");

enum class Shown { no, yes };

struct DumpOptions {
  Shown owners = Shown::yes;
  Shown mtimes = Shown::yes;
  // Off by default: whoever reads a symlink changes its time of access. With
  // it on, the dump puts that time back.
  Shown atimes = Shown::no;
  Shown holes = Shown::yes;
  Shown xattrs = Shown::yes;
  Shown root = Shown::yes;
  // Attributes whose names begin so are left out.
  std::vector<std::string> hidden_xattrs = {};
};

// Reads the tree at `path` into text.
std::string dump_tree(const std::string& path, const DumpOptions& options = {});
std::string dump_tree(int directory, const DumpOptions& options = {});

// The first few lines in which two dumps differ, "" when there are none. For
// trees of many thousand names, where a full diff would take too long:
//   EXPECT_EQ(dump_difference(dump_tree(src), dump_tree(dst)), "");
std::string dump_difference(std::string_view want, std::string_view got);

// The bytes that `fill=seed` puts at `offset`: for tests that look at contents.
void fill_bytes(std::uint64_t seed, std::uint64_t offset, char* bytes,
                std::size_t count);

}  // namespace lamina::test
