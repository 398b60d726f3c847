// SHA-256 of a stream, by OpenSSL: of the blob as it came and of the layer as
// it was packed (its diffID).
//
// A Digest is a value. A Sha256 belongs to one thread at a time. A HashQueue
// hashes slices in the order given, on a thread of its own or, without one, at
// once; its methods are for one thread at a time.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "archive/bytes.h"
#include "archive/slab.h"
#include "base/error.h"

struct evp_md_ctx_st;  // EVP_MD_CTX, EVP_DigestInit(3ssl).

namespace lamina::archive {

struct CryptoLibrary;

// As the OCI image specification writes it: "sha256:" and 64 lower-case
// hexadecimal digits.
struct Digest {
  std::array<uint8_t, 32> value = {};

  std::string text() const;
  // Fails on any other algorithm, length or digit.
  static Result<Digest> parse(std::string_view text);

  friend bool operator==(const Digest&, const Digest&) = default;
};

class Sha256 {
 public:
  Sha256();

  void add(Bytes bytes);

  // The digest of all that was added; nothing may be added after. Fails when
  // the library is not there or refused to work (a FIPS provider without
  // SHA-256, no memory).
  Result<Digest> finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  const CryptoLibrary* library_;
  std::unique_ptr<evp_md_ctx_st, Free> context_;
  bool refused_ = true;
};

// Whether work may be given to threads that the object starts for itself. Where
// a thread cannot be started the calling thread does the work.
enum class Helpers { none, threads };

class HashQueue {
 public:
  explicit HashQueue(Helpers helpers);
  HashQueue(const HashQueue&) = delete;
  HashQueue& operator=(const HashQueue&) = delete;
  // Drops what is not hashed yet.
  ~HashQueue();

  // Hashes `slice` after all before it; keeps its share until then.
  void add(Slice slice);

  // Waits for all and returns the digest. Nothing may be added after.
  Result<Digest> finish();

 private:
  void work();
  void stop();

  Sha256 hash_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by the mutex.
  std::deque<Slice> queue_;
  bool ended_ = false;
  // Last: it uses all of the above.
  std::thread thread_;
};

}  // namespace lamina::archive
