// SELinux contexts for new inodes, by libselinux.
//
// The create context belongs to a thread, so a LabelScope must be made and
// ended on the thread that creates.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace lamina::copy {

// The seam: what libselinux is asked. Any thread may call any function.
class Labeller {
 public:
  Labeller() = default;
  Labeller(const Labeller&) = delete;
  Labeller& operator=(const Labeller&) = delete;
  virtual ~Labeller() = default;

  // is_selinux_enabled(3).
  virtual bool enabled() = 0;
  // setfscreatecon(3) for the calling thread; null goes back to the default.
  virtual int set_create_context(const char* context) = 0;
};

// libselinux itself.
Labeller& real_labeller();

// Sets the create context for a scope and takes it back, on every way out.
class LabelScope {
 public:
  LabelScope() = default;
  LabelScope(const LabelScope&) = delete;
  LabelScope& operator=(const LabelScope&) = delete;
  ~LabelScope() { end(); }

  Result<void> begin(Labeller& labeller, const std::string& context);
  void end();

 private:
  Labeller* labeller_ = nullptr;
};

}  // namespace lamina::copy
