// Runs another program and keeps what it said. No shell: an argument is an
// argument. For tests; blocks until the program ends.
#pragma once

#include <string>
#include <vector>

namespace lamina::test {

struct Ran {
  int status = 0;  // exit status; 128 + N when signal N ended it
  std::string out = {};
  std::string err = {};
};

// Runs `arguments[0]`, found by $PATH. Throws SupportError when it cannot be
// started.
Ran run_program(const std::vector<std::string>& arguments);

// True when `name` can be found by $PATH or in /usr/sbin and /sbin, where
// tools for file systems are.
bool has_program(const std::string& name);

}  // namespace lamina::test
