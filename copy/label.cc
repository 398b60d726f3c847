#include "copy/label.h"

#include <selinux/selinux.h>

#include <utility>

namespace lamina::copy {

namespace {

class RealLabeller final : public Labeller {
 public:
  bool enabled() override { return is_selinux_enabled() == 1; }
  int set_create_context(const char* context) override {
    return setfscreatecon_raw(context);
  }
};

}  // namespace

Labeller& real_labeller() {
  static auto* const labeller = new RealLabeller;
  return *labeller;
}

Result<void> LabelScope::begin(Labeller& labeller, const std::string& context) {
  end();
  if (labeller.set_create_context(context.c_str()) != 0) {
    return fail(last_error("setfscreatecon", context));
  }
  labeller_ = &labeller;
  return {};
}

void LabelScope::end() {
  if (Labeller* labeller = std::exchange(labeller_, nullptr)) {
    // Cannot usefully fail: the default context needs no permission.
    if (labeller->set_create_context(nullptr) != 0) {
      return;
    }
  }
}

}  // namespace lamina::copy
