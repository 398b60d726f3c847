// Many threads and processes at one cache.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "cache/cache.h"
#include "tests/cache/caching.h"
#include "tests/support/program.h"
#include "tests/support/tree.h"

namespace lamina::cache {
namespace {

using test::Blobs;
using test::file;
using test::get;
using test::recipe_of;
using test::TempDir;
using test::tool;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

class CacheConcurrentTest : public ::testing::Test {
 protected:
  std::string at(const std::string& path) const { return temp_.path(path); }

  Manifest tree(int files) {
    Manifest out;
    for (int i = 0; i < files; ++i) {
      out.files.push_back(
          file(blobs_, "d/f" + std::to_string(i), std::to_string(i)));
    }
    out.files.push_back(tool(blobs_, "bin/tool", "#!/bin/sh\necho ok\n"));
    return out;
  }

  TempDir temp_;
  Blobs blobs_{temp_.path("store")};
};

TEST_F(CacheConcurrentTest, ManyThreadsAtOnceMeanOneBuild) {
  Cache cache(at("cache"));
  Manifest manifest = tree(100);
  std::vector<std::thread> threads;
  std::atomic<int> whole{0};

  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&, i] {
      ManifestRecipe recipe = recipe_of(manifest, blobs_.source());
      auto answer = get(cache, "k", at("t" + std::to_string(i)), &recipe);
      whole += answer && answer->files == 101 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }

  EXPECT_EQ(whole, 32);
  Counts counts = cache.list()->counts;
  EXPECT_EQ(counts.built, 1U);
  EXPECT_EQ(counts.hits, 31U);
  EXPECT_EQ(counts.direct, 0U);
}

TEST_F(CacheConcurrentTest, ManyProcessesAtOnceMeanOneBuild) {
  Manifest manifest = tree(100);
  std::vector<pid_t> children;

  for (int i = 0; i < 64; ++i) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Cache cache(at("cache"));
      ManifestRecipe recipe = recipe_of(manifest, blobs_.source());
      auto answer = get(cache, "k", at("p" + std::to_string(i)), &recipe);
      ::_exit(answer && answer->files == 101 ? 0 : 1);
    }
    children.push_back(child);
  }
  int failed = 0;
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    failed += status == 0 ? 0 : 1;
  }

  EXPECT_EQ(failed, 0);
  Cache cache(at("cache"));
  Counts counts = cache.list()->counts;
  EXPECT_EQ(counts.built, 1U);
  EXPECT_EQ(counts.hits, 63U);
  EXPECT_EQ(counts.direct, 0U);
  const std::string one = lamina::test::dump_tree(at("p0/d"));
  for (int i = 1; i < 64; ++i) {
    EXPECT_EQ(one, lamina::test::dump_tree(at("p" + std::to_string(i) + "/d")));
  }
}

// A recipe whose making takes until it is let go, or for ever.
class SlowRecipe final : public Recipe {
 public:
  SlowRecipe(Recipe& real, std::function<void()> pause)
      : real_(real),
        pause_(std::move(pause)) {}
  std::string_view id() const override { return real_.id(); }
  Result<BuiltTree> make(const Fd& root, const Workshop& workshop) override {
    auto made = real_.make(root, workshop);
    pause_();
    return made;
  }
  std::string manifest() const override { return real_.manifest(); }

 private:
  Recipe& real_;
  std::function<void()> pause_;
};

TEST_F(CacheConcurrentTest, ABuildThatWasKilledIsDoneByTheNextCaller) {
  Manifest manifest = tree(20);
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  pid_t child = ::fork();
  if (child == 0) {
    Cache cache(at("cache"));
    ManifestRecipe real = recipe_of(manifest, blobs_.source());
    SlowRecipe slow(real, [&] {
      [[maybe_unused]] ssize_t told = ::write(ready[1], "x", 1);
      ::pause();
    });
    [[maybe_unused]] auto never = get(cache, "k", at("killed"), &slow);
    ::_exit(1);
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);

  Cache cache(at("cache"));
  ManifestRecipe recipe = recipe_of(manifest, blobs_.source());
  auto answer = get(cache, "k", at("next"), &recipe);

  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->outcome, Outcome::built);
  EXPECT_EQ(answer->files, 21U);
  EXPECT_NE(::access(at("killed").c_str(), F_OK), 0);
  EXPECT_EQ(cache.list()->entries.size(), 1U);
}

TEST_F(CacheConcurrentTest, EvictionMeanwhileNeverTakesWhatIsHandedOut) {
  CacheOptions options;
  options.limits.entries = 1;
  Cache cache(at("cache"), options);
  Manifest manifest = tree(60);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;

  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 15; ++n) {
        ManifestRecipe recipe = recipe_of(manifest, blobs_.source());
        const std::string to =
            at("e" + std::to_string(i) + "-" + std::to_string(n));
        auto answer =
            get(cache, (i + n) % 2 == 0 ? "even" : "odd", to, &recipe);
        bool whole = answer && answer->outcome != Outcome::direct &&
                     answer->files == 61 && test::read(to + "/d/f59") == "59";
        wrong += whole ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }

  EXPECT_EQ(wrong, 0);
}

// Forks without pause, so that descriptors which are open for writing are open
// elsewhere, too, until the child calls exec.
class ForkingNeighbour {
 public:
  ForkingNeighbour()
      : thread_([this] {
          while (!stop_) {
            pid_t child = ::fork();
            if (child == 0) {
              ::usleep(500);
              ::execl("/bin/true", "true", nullptr);
              ::_exit(1);
            }
            ::waitpid(child, nullptr, 0);
          }
        }) {}
  ForkingNeighbour(const ForkingNeighbour&) = delete;
  ForkingNeighbour& operator=(const ForkingNeighbour&) = delete;
  ~ForkingNeighbour() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// Runs a file and returns its exit status, or the errno of exec plus 1000.
int run_file(const std::string& path) {
  pid_t child = ::fork();
  if (child == 0) {
    ::execl(path.c_str(), path.c_str(), nullptr);
    ::_exit(errno == ETXTBSY ? 26 : 27);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST_F(CacheConcurrentTest, ToolsCanBeRunAtOnceWhileOthersFork) {
  // A fork copies a sanitizer's shadow as well, and takes a hundred times as
  // long.
  const int rounds = kSanitized ? 2 : 50;
  const std::string binary = test::read("/bin/true");
  // A new digest each round, so that each makes a new variant; a mode of its
  // own makes a new inode at each destination.
  std::atomic<int> busy{0};
  std::atomic<int> failed{0};
  Cache cache(at("cache"));
  ASSERT_TRUE(cache.open());
  {
    ForkingNeighbour one;
    ForkingNeighbour two;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      std::vector<Manifest> manifests;
      for (int n = 0; n < rounds; ++n) {
        Manifest manifest;
        manifest.files = {
            tool(blobs_, "shared", binary + std::to_string(i * 100 + n))};
        manifest.files.push_back(manifest.files[0]);
        manifest.files[1].path = "own";
        manifest.files[1].mode = 0755;
        manifests.push_back(std::move(manifest));
      }
      threads.emplace_back([&, i, manifests = std::move(manifests)] {
        for (int n = 0; n < rounds; ++n) {
          const std::string name = std::to_string(i) + "-" + std::to_string(n);
          ManifestRecipe recipe =
              recipe_of(manifests[static_cast<size_t>(n)], blobs_.source());
          auto answer = get(cache, name, at(name), &recipe);
          for (const char* file : {"/shared", "/own"}) {
            int status = answer ? run_file(at(name) + file) : 1;
            busy += status == 26 ? 1 : 0;
            failed += status != 0 ? 1 : 0;
          }
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  EXPECT_EQ(busy, 0);
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace lamina::cache
