#include "base/umask.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string_view>

#include "base/fd.h"

namespace lamina {

mode_t read_umask() {
  constexpr mode_t kUnknown = 0777;
  // Absolute, so no directory descriptor is involved.
  Fd fd(::open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC));
  char buffer[512];
  ssize_t n = fd.valid() ? ::read(fd.get(), buffer, sizeof buffer) : -1;
  if (n <= 0) {
    return kUnknown;
  }
  std::string_view text(buffer, static_cast<size_t>(n));
  constexpr std::string_view kKey = "\nUmask:\t";
  size_t at = text.find(kKey);
  if (at == std::string_view::npos) {
    return kUnknown;
  }
  text.remove_prefix(at + kKey.size());
  mode_t mask = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), mask, 8);
  return error == std::errc{} && end != text.data() ? mask : kUnknown;
}

}  // namespace lamina
