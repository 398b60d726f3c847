#include "cli/signals.h"

#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <system_error>
#include <utility>

#include "cli/command_line.h"
#include "cli/output.h"

namespace lamina::cli {

namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

}  // namespace

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : "a signal";
}

StopOnSignals::StopOnSignals(std::string left)
    : left_(std::move(left)) {
  sigemptyset(&caught_);
  sigaddset(&caught_, SIGINT);
  sigaddset(&caught_, SIGTERM);
  if (!is_ignored(SIGHUP)) {
    sigaddset(&caught_, SIGHUP);
  }
  pthread_sigmask(SIG_BLOCK, &caught_, &before_);
  try {
    waiter_ = std::thread([this] { wait(); });
  } catch (const std::system_error&) {
    // No thread to be had: a signal ends the process as it ends any other.
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
}

StopOnSignals::~StopOnSignals() {
  if (waiter_.joinable()) {
    ending_ = true;
    // It is blocked there, so it only ends sigwait(3).
    pthread_kill(waiter_.native_handle(), SIGINT);
    waiter_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
}

void StopOnSignals::wait() {
  for (;;) {
    int signal = 0;
    if (sigwait(&caught_, &signal) != 0) {
      continue;
    }
    if (ending_) {
      return;
    }
    if (first_ == 0) {
      first_ = signal;
      source_.request_stop();
      continue;
    }
    if (::isatty(STDERR_FILENO) == 1) {
      // Over a progress bar that nobody takes down any more.
      [[maybe_unused]] ssize_t ignored = ::write(STDERR_FILENO, "\r\x1b[K", 4);
    }
    complain("ended by a second " + signal_name(signal) + ": " + left_);
    ::_exit(kFailed);
  }
}

}  // namespace lamina::cli
