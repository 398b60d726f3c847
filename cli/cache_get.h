// `lamina cache get`: words turned into a request, once or line by line.
#pragma once

#include <map>
#include <stop_token>
#include <string>

#include "base/error.h"
#include "cache/blobs.h"
#include "cache/cache.h"
#include "cli/cache_request.h"

namespace lamina::cli {

class CacheGetter {
 public:
  // `cache` must outlive it.
  explicit CacheGetter(cache::Cache& cache)
      : cache_(cache) {}

  // Requires words that check_get passes.
  Result<cache::Answer> get(const GetWords& words);

  // Reads requests from standard input, one a line, until it ends, and answers
  // each with a line on standard output before the next is read. An empty line
  // is none. Fails when a request failed, after the last.
  Result<void> serve(const GetWords& defaults, const std::stop_token& stop);

 private:
  Result<cache::BlobSource*> blobs_of(const std::string& path);
  Result<void> answer(const std::string& line, const GetWords& defaults);

  cache::Cache& cache_;
  // Directories of blobs stay open from one request to the next.
  std::map<std::string, cache::BlobDirectory> blobs_;
  uint64_t requests_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace lamina::cli
