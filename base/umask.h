// The calling thread's umask, read without changing it.
#pragma once

#include <sys/types.h>

namespace lamina {

// Reads the umask from /proc/thread-self/status, proc_pid_status(5): umask(2)
// can only be asked by setting it, which other threads of the process would
// see. Where /proc is not to be had the answer is 0777, which makes callers set
// every mode explicitly.
mode_t read_umask();

}  // namespace lamina
