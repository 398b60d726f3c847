#include "tests/support/random_tree.h"

#include <cstdlib>
#include <vector>

#include "tests/support/tree_text.h"

namespace lamina::test {
namespace {

using May = RandomTreeOptions::May;

class RandomTree {
 public:
  RandomTree(std::uint64_t seed, const RandomTreeOptions& options)
      : state_(seed),
        options_(options) {}

  std::string text(std::size_t entries) {
    for (std::size_t i = 0; i < entries; ++i) {
      out_ += format_node(next_node(i)) + "\n";
    }
    return out_;
  }

 private:
  std::uint64_t below(std::uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t word = state_;
    word = (word ^ (word >> 30U)) * 0xbf58476d1ce4e5b9U;
    word = (word ^ (word >> 27U)) * 0x94d049bb133111ebU;
    return (word ^ (word >> 31U)) % bound;
  }

  bool chance(std::uint64_t percent) { return below(100) < percent; }

  template <typename T>
  const T& any_of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

  std::string name(std::size_t number) {
    std::string name = "n" + std::to_string(number);
    if (chance(10)) {
      // Bytes that a careless program stumbles over.
      static const std::vector<std::string> kOdd = {
          "\n", "\x1b[2J", "\xff\xfe", " ", "\\", "%s", "-rf", "*", "\xe2\x82"};
      name = any_of(kOdd) + name;
    }
    if (chance(2))
      name.resize(255, 'l');
    return name;
  }

  timespec time() {
    // From 1902 to 2400: what ext4, xfs and btrfs can all hold.
    constexpr std::int64_t kFirst = -2'145'916'800;
    constexpr std::uint64_t kSpan = 15'700'000'000;
    return {.tv_sec = kFirst + static_cast<std::int64_t>(below(kSpan)),
            .tv_nsec = static_cast<std::int32_t>(below(1'000'000'000))};
  }

  void add_content(Node& node) {
    const std::uint64_t choice = below(10);
    if (choice < 2) {
      node.text = std::string(below(64), 'x');
    } else if (choice < 9) {
      node.fill = below(1000);
      node.size = below(choice < 8 ? 8192 : 300'000);
    } else {
      // Data and holes in turn, in units that every file system keeps apart.
      constexpr std::uint64_t kUnit = 65536;
      std::uint64_t at = kUnit * below(3);
      for (std::uint64_t i = below(4) + 1; i > 0; --i) {
        const std::uint64_t length = kUnit * (below(3) + 1);
        node.data.emplace_back(at, length);
        at += length + kUnit * (below(5) + 1);
      }
      node.size = at;
    }
  }

  void add_attributes(Node& node) {
    node.mtime = time();
    node.mode = static_cast<mode_t>(below(0777 + 1) | 0600U);
    if (node.kind == "dir")
      *node.mode |= 0700U;
    const bool set_id = options_.set_id == May::yes && chance(10);
    if (set_id && (node.kind == "file" || node.kind == "dir")) {
      *node.mode |= static_cast<mode_t>(below(8) << 9U);
    }
    if (options_.owners == May::yes && chance(50)) {
      node.owner = {static_cast<uid_t>(below(70'000)),
                    static_cast<gid_t>(below(4'000'000'000))};
    }
    const bool plain = node.kind == "file" || node.kind == "dir";
    if (options_.user_xattrs == May::yes && plain && chance(20)) {
      node.xattrs["user.n" + std::to_string(below(9))] =
          std::string(below(40), '\x01');
    }
    if (options_.trusted_xattrs == May::yes && chance(10)) {
      node.xattrs["trusted.t"] = std::to_string(below(100));
    }
  }

  Node next_node(std::size_t number) {
    const std::string path = any_of(directories_) + name(number);
    const std::uint64_t choice = below(100);
    if (choice >= 88 && !linked_.empty()) {
      const Node& first = any_of(linked_);
      return {.kind = first.kind, .path = path, .link = first.link};
    }
    Node node{.kind = "file", .path = path};
    if (choice < 20) {
      node.kind = "dir";
      directories_.push_back(path + "/");
    } else if (choice < 30) {
      node.kind = "symlink";
      node.target = chance(50) ? "../" + name(number) : "/nowhere";
    } else if (choice < 33) {
      node.kind = "fifo";
    } else if (choice < 36) {
      node.kind = "socket";
    } else if (choice < 40 && options_.devices == May::yes) {
      node.kind = chance(50) ? "char" : "block";
      // 0:0 is overlay's whiteout; it has tests of its own.
      node.device = static_cast<dev_t>(below(4000) + 1);
    } else {
      add_content(node);
    }
    add_attributes(node);
    if (node.kind != "dir" && chance(20)) {
      node.link = static_cast<unsigned>(linked_.size() + 1);
      linked_.push_back(node);
    }
    return node;
  }

  std::uint64_t state_;
  const RandomTreeOptions& options_;
  std::string out_;
  std::vector<std::string> directories_ = {""};
  std::vector<Node> linked_;
};

}  // namespace

std::string random_tree(std::uint64_t seed, std::size_t entries,
                        const RandomTreeOptions& options) {
  return "# random_tree(" + std::to_string(seed) + ", " +
         std::to_string(entries) + ")\n" +
         RandomTree(seed, options).text(entries);
}

std::uint64_t seed_from_environment(std::uint64_t otherwise) {
  const char* text = std::getenv("LAMINA_SEED");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace lamina::test
