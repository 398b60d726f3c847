#include "base/umask.h"

#include <sys/stat.h>

#include <thread>

#include <gtest/gtest.h>

#include "base/kernel.h"
#include "tests/support/fixtures.h"

namespace lamina {
namespace {

TEST(Umask, IsReadAsItIs) {
  for (const mode_t mask :
       {mode_t{0}, mode_t{022}, mode_t{077}, mode_t{0777}}) {
    const test::UmaskScope scope(mask);

    EXPECT_EQ(read_umask(), mask);
  }
}

TEST(Umask, IsNotChangedByReadingIt) {
  const test::UmaskScope scope(0123);

  (void)read_umask();

  EXPECT_EQ(::umask(0123), 0123U);
}

TEST(Umask, IsThatOfTheCallingThread) {
  const test::UmaskScope scope(077);
  mode_t inside = 0777;
  bool own = false;

  std::thread([&] {
    own = real_kernel().unshare_umask() == 0;
    inside = read_umask();
  }).join();

  // Where unshare(2) is refused the thread shares the process's umask.
  EXPECT_EQ(inside, own ? 0U : 077U);
  EXPECT_EQ(read_umask(), 077U);
}

}  // namespace
}  // namespace lamina
