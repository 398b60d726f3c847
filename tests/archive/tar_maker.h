// Tars for tests, put together block by block, right or wrong as the test
// wants; and a reader that writes down all it sees.
//
// Pure functions, free for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/slab.h"
#include "archive/tar_reader.h"

namespace lamina::archive::test {

struct Header {
  std::string name = {};
  uint64_t size = 0;
  char type = '0';
  std::string link = {};
  uint64_t mode = 0644;
  uint64_t uid = 0;
  uint64_t gid = 0;
  uint64_t mtime = 1700000000;
};

// A ustar block with a right checksum.
std::string header_block(const Header& header);

// `block` with its checksum made right.
std::string with_checksum(std::string block);

// `text` and zeros up to the next block.
std::string padded(std::string_view text);

// A header and its body, padded.
std::string member(Header header, std::string_view body = {});

// A PAX header of type 'x' or 'g' with these records.
std::string pax_member(
    const std::vector<std::pair<std::string, std::string>>& records,
    char type = 'x');

// A PAX header with this body, which may be no records at all.
std::string raw_pax_member(std::string_view body, char type = 'x');

// A GNU long name 'L' or long link 'K'.
std::string long_member(char type, std::string_view text);

// Two zero blocks.
std::string end_marker();

// Bytes as slices in slabs of `slab_bytes`, through a ring of few slabs. What
// lies in a slab is overwritten when it is set free.
class RingSlices final : public SliceStream {
 public:
  RingSlices(std::string_view bytes, size_t slab_bytes)
      : ring_(SlabRing::kFewestSlabs, slab_bytes),
        rest_(bytes) {}

  Result<std::optional<Slice>> next() override;
  const SlabRing& ring() const { return ring_; }

 private:
  SlabRing ring_;
  std::string_view rest_;
};

// What a reader sees, one line for each entry, then the error if there is one:
//   0 file a mode=644 owner=0:0 mtime=1700000000 size=5 body=hello
// Bodies over 40 bytes are shown as their length and a digest, holes as they
// read. Fields that are zero or empty are left out.
std::string listing(SliceStream& stream, const TarLimits& limits = {});

// The same of a tar in memory.
std::string listing(std::string_view tar, const TarLimits& limits = {});

// The same, and checks that slabs of a few sizes, and a reader that skips
// bodies, see the same.
std::string listing_every_way(std::string_view tar);

}  // namespace lamina::archive::test
