// One file's bytes moved by FileData, with a kernel between that does as it is
// told. The two files lie on tmpfs, which knows holes and no clones.
#pragma once

#include <functional>
#include <string>

#include "copy/abilities.h"
#include "copy/data.h"
#include "tests/copy/copying.h"

namespace lamina::test {

class MovedData : public testing::Test {
 protected:
  MovedData()
      : temp_("/dev/shm") {}

  // The source, made as make_tree() makes a file with these fields.
  void make(const std::string& fields) {
    make_tree(temp_.fd(), "file source " + fields);
  }

  // Moves all of the source to a new target; how many steps it took is in
  // steps_. Never more than a thousand.
  Result<void> move(copy::Sharing sharing = copy::Sharing::automatic);

  std::string source() const { return temp_.path("source"); }
  std::string target() const { return temp_.path("target"); }
  void expect_equal() const {
    EXPECT_TRUE(read_file(source()) == read_file(target()));
    EXPECT_EQ(stat_of(source()).st_size, stat_of(target()).st_size);
  }

  FaultyKernel kernel_;
  copy::Abilities abilities_{FsKind::tmpfs};
  copy::CopyBuffer buffer_;
  copy::FileData data_;
  int steps_ = 0;
  TempDir temp_;
};

}  // namespace lamina::test
