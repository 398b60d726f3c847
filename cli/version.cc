#include "cli/version.h"

namespace lamina::cli {

std::string_view version() {
  return LAMINA_VERSION;
}

}  // namespace lamina::cli
