// gzip, RFC 1952: the walk over members, their headers and the padding, and the
// inflaters that do the work within one member.
//
// ISA-L inflates twice as fast as zlib; a build with ISAL=0 has zlib alone.
// Headers are read here: ISA-L 2.30 finds fault with a header checksum when the
// header does not lie in one piece of input. Tests and fuzzing compare the two.
// One thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "archive/bytes.h"
#include "archive/decompress.h"
#include "archive/input.h"
#include "base/error.h"

namespace lamina::archive {

// The error of a gzip stream that is not what it should be.
inline Error malformed_gzip(std::string_view why) {
  return make_error(0, "decompress gzip", "", why);
}

// Inflates what lies behind the header of a gzip member: the data, and the
// trailer, whose CRC and length it checks.
class Inflater {
 public:
  struct Step {
    size_t consumed = 0;
    size_t produced = 0;
    bool member_ended = false;
  };

  Inflater() = default;
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  virtual ~Inflater() = default;

  // Makes ready for the data of a member.
  virtual void start() = 0;

  // Goes on until `in` is used up, `out` is full or the member has ended. With
  // nothing consumed, produced or ended it wants more input.
  virtual Result<Step> step(Bytes in, MutableBytes out) = 0;
};

std::unique_ptr<Inflater> make_zlib_inflater();
#if LAMINA_ISAL
std::unique_ptr<Inflater> make_isal_inflater();
#endif
// The fastest that was built in.
std::unique_ptr<Inflater> make_inflater();

// Goes on behind the header of a member, which must begin with the magic.
// Checks the header's CRC where it has one. Fields of any length take no
// memory.
Result<void> skip_gzip_header(Input& input);

std::unique_ptr<Decoder> make_gzip_decoder(Input& input,
                                           std::unique_ptr<Inflater> inflater);

}  // namespace lamina::archive
