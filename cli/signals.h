// Stops work when the user or the system asks for it.
//
// While an object lives, SIGINT and SIGTERM (and SIGHUP, unless the program was
// started to ignore it, as nohup(1) does) ask the stop token to stop; the work
// then ends by itself, cleaning up. A second one ends the process at once, with
// exit code 1 and one line that says what is left. One object at a time, made
// by the main thread before any other thread, so that all of them leave these
// signals to it.
#pragma once

#include <atomic>
#include <csignal>
#include <stop_token>
#include <string>
#include <thread>

namespace lamina::cli {

class StopOnSignals {
 public:
  // `left` is said at the second signal: "what was made is left in 'dst'".
  explicit StopOnSignals(std::string left);
  StopOnSignals(const StopOnSignals&) = delete;
  StopOnSignals& operator=(const StopOnSignals&) = delete;
  ~StopOnSignals();

  std::stop_token token() const { return source_.get_token(); }

  // The first signal that came, 0 while none has.
  int signal() const { return first_.load(); }

 private:
  void wait();

  std::string left_;
  sigset_t caught_ = {};
  sigset_t before_ = {};
  std::stop_source source_;
  std::atomic<int> first_{0};
  std::atomic<bool> ending_{false};
  std::thread waiter_;
};

// "SIGINT"; "a signal" for one without a name.
std::string signal_name(int signal);

}  // namespace lamina::cli
