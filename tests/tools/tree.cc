// Trees for shell scripts: what tests/support/tree.h does, as a command.
//
//   tree make DIR                 makes DIR from the text on standard input
//   tree dump DIR [WITHOUT...]    prints its text; WITHOUT is any of owners,
//                                 mtimes, holes, xattrs, root, or "atimes",
//                                 which shows those too
//   tree random DIR SEED COUNT [plain]  a tree by chance; plain: what an
//                                 ordinary user can make anywhere
//   tree chain DIR DEPTH          DEPTH nested directories with a file below
//   tree many DIR FILES DIRECTORIES     that many one-byte files
//   tree exchange A B SECONDS     swaps two names, over and over
//   tree remove DIR               removes DIR and all below it
//
// Exits 1 with a line on standard error when it cannot, 2 for a wrong call.
#include "tests/support/tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

namespace {

using lamina::test::Descriptor;
using lamina::test::DumpOptions;
using lamina::test::Shown;
using Arguments = std::vector<std::string>;

int dump(const Arguments& arguments) {
  DumpOptions options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "owners")
      options.owners = Shown::no;
    if (word == "mtimes")
      options.mtimes = Shown::no;
    if (word == "holes")
      options.holes = Shown::no;
    if (word == "xattrs")
      options.xattrs = Shown::no;
    if (word == "root")
      options.root = Shown::no;
    if (word == "atimes")
      options.atimes = Shown::yes;
  }
  std::cout << lamina::test::dump_tree(arguments[0], options);
  return std::cout.flush() ? 0 : 1;
}

void make_files(const std::string& path, unsigned long files,
                unsigned long directories) {
  lamina::test::make_tree(path, "");
  const Descriptor root = lamina::test::open_directory(path);
  for (unsigned long d = 0; d < directories; ++d) {
    const std::string name = "d" + std::to_string(d);
    if (::mkdirat(root.get(), name.c_str(), 0755) != 0) {
      lamina::test::throw_errno("mkdirat", name);
    }
    const Descriptor directory =
        lamina::test::open_directory_at(root.get(), name);
    for (unsigned long i = d; i < files; i += directories) {
      const std::string file = "f" + std::to_string(i);
      const Descriptor fd(::openat(directory.get(), file.c_str(),
                                   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                   0644));
      if (!fd.valid() || ::write(fd.get(), "x", 1) != 1) {
        lamina::test::throw_errno("write", file);
      }
    }
  }
}

int exchange(const Arguments& arguments) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(std::stoul(arguments[2]));
  while (std::chrono::steady_clock::now() < end) {
    // A source that is gone ends the race: the scenario is over.
    if (::renameat2(AT_FDCWD, arguments[0].c_str(), AT_FDCWD,
                    arguments[1].c_str(), RENAME_EXCHANGE) != 0) {
      if (errno == ENOENT)
        return 0;
      lamina::test::throw_errno("renameat2", arguments[0]);
    }
  }
  return 0;
}

int run(const std::string& verb, const Arguments& arguments) {
  const std::size_t count = arguments.size();
  if (verb == "make" && count == 1) {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    lamina::test::make_tree(arguments[0], text);
  } else if (verb == "dump" && count >= 1) {
    return dump(arguments);
  } else if (verb == "random" && count >= 3) {
    const auto options = count == 3 ? lamina::test::kEverything
                                    : lamina::test::RandomTreeOptions{};
    lamina::test::make_tree(
        arguments[0],
        lamina::test::random_tree(std::stoul(arguments[1]),
                                  std::stoul(arguments[2]), options));
  } else if (verb == "chain" && count == 2) {
    lamina::test::make_tree(arguments[0], "");
    const Descriptor bottom = lamina::test::make_chain(
        lamina::test::open_directory(arguments[0]).get(),
        std::stoul(arguments[1]));
    lamina::test::make_tree(bottom.get(), "file bottom text=here");
  } else if (verb == "many" && count == 3) {
    make_files(arguments[0], std::stoul(arguments[1]),
               std::stoul(arguments[2]));
  } else if (verb == "exchange" && count == 3) {
    return exchange(arguments);
  } else if (verb == "remove" && count == 1) {
    lamina::test::remove_all_at(AT_FDCWD, arguments[0]);
  } else {
    std::fputs("tree: see the head of tests/tools/tree.cc\n", stderr);
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return run("", {});
  try {
    return run(argv[1], Arguments(argv + 2, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tree: %s\n", error.what());
    return 1;
  }
}
