#include "tests/copy/data_fixture.h"

#include <fcntl.h>

namespace lamina::test {

Result<void> MovedData::move(copy::Sharing sharing) {
  const Descriptor in(::open(source().c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor out(
      ::open(target().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  copy::FilePair files;
  files.source = in.get();
  files.target = out.get();
  files.stat = stat_of(source());
  data_.begin(kernel_, files, abilities_, sharing, buffer_);
  for (steps_ = 1; steps_ <= 1000; ++steps_) {
    const Result<bool> all = data_.step();
    if (!all)
      return fail(all.error());
    if (*all)
      return {};
  }
  return fail(make_error(0, "move", "", "no end after a thousand steps"));
}

}  // namespace lamina::test
