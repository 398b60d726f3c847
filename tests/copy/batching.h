// What tests of batches share: a root, entries that own their text, and small
// questions about what was written.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "copy/write_batch.h"
#include "tests/copy/copying.h"
#include "tests/support/fixtures.h"

namespace lamina::test {

// The message of a failure with its index, "" for a success:
// "3: write on 'a': ...".
std::string error_of(const copy::BatchResult& result);

// A list of entries, which keeps what they refer to.
class Entries {
 public:
  // Content given as text.
  Entries& add(std::string path, std::string data,
               std::optional<mode_t> mode = std::nullopt);
  // Content from a file.
  Entries& from(std::string path, std::string file);

  const std::vector<copy::BatchEntry>& list() const { return entries_; }

 private:
  std::string_view keep(std::string text) {
    return texts_.emplace_back(std::move(text));
  }

  std::deque<std::string> texts_;
  std::vector<copy::BatchEntry> entries_;
};

class Batching : public testing::Test {
 protected:
  // Where many rounds cost no disk.
  Batching()
      : temp_("/dev/shm") {}

  // Lies in temp(), absent at first.
  std::string root(const std::string& name = "") const {
    return temp_.path("root") + (name.empty() ? "" : "/" + name);
  }
  const TempDir& temp() const { return temp_; }
  FaultyKernel& kernel() { return kernel_; }

  copy::BatchResult write(const Entries& entries, unsigned workers = 0) {
    copy::BatchOptions options;
    options.workers = workers;
    options.kernel = &kernel_;
    return copy::write_batch(root(), entries.list(), options);
  }

  // The names of all files below the root that look like temporary ones.
  std::vector<std::string> temporaries() const;

 private:
  TempDir temp_;
  FaultyKernel kernel_;
};

}  // namespace lamina::test
