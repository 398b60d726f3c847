#include "archive/digest.h"

#include <system_error>
#include <utility>

#include "archive/crypto_library.h"

namespace lamina::archive {

namespace {

constexpr std::string_view kPrefix = "sha256:";
constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string Digest::text() const {
  std::string out(kPrefix);
  for (uint8_t byte : value) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

Result<Digest> Digest::parse(std::string_view text) {
  auto refuse = [&] {
    return fail(make_error(0, "read digest", text,
                           "want sha256: and 64 lower-case hexadecimal "
                           "digits"));
  };
  Digest digest;
  if (!text.starts_with(kPrefix) ||
      text.size() != kPrefix.size() + 2 * digest.value.size()) {
    return refuse();
  }
  for (size_t i = 0; i < digest.value.size(); ++i) {
    size_t high = kDigits.find(text[kPrefix.size() + 2 * i]);
    size_t low = kDigits.find(text[kPrefix.size() + 2 * i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) {
      return refuse();
    }
    digest.value[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return digest;
}

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  crypto_library()->context_free(context);
}

Sha256::Sha256()
    : library_(crypto_library()) {
  if (library_ != nullptr) {
    context_.reset(library_->context_new());
    refused_ = context_ == nullptr ||
               library_->init(context_.get(), library_->sha256(), nullptr) != 1;
  }
}

void Sha256::add(Bytes bytes) {
  if (!refused_ &&
      library_->update(context_.get(), bytes.data(), bytes.size()) != 1) {
    refused_ = true;
  }
}

Result<Digest> Sha256::finish() {
  if (library_ == nullptr) {
    return fail(make_error(0, "SHA-256", "", "libcrypto cannot be loaded"));
  }
  Digest digest;
  if (refused_ ||
      library_->final(context_.get(), digest.value.data(), nullptr) != 1) {
    return fail(make_error(0, "SHA-256", "", "refused by the crypto library"));
  }
  return digest;
}

HashQueue::HashQueue(Helpers helpers) {
  if (helpers == Helpers::threads) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      // No thread to be had (a limit on processes): add() does the work.
    }
  }
}

HashQueue::~HashQueue() {
  {
    std::lock_guard lock(mutex_);
    queue_.clear();
  }
  stop();
}

void HashQueue::add(Slice slice) {
  if (!thread_.joinable()) {
    hash_.add(slice.bytes);
    return;
  }
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(slice));
  }
  changed_.notify_one();
}

Result<Digest> HashQueue::finish() {
  stop();
  return hash_.finish();
}

void HashQueue::stop() {
  if (!thread_.joinable()) {
    return;
  }
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void HashQueue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ended_ || !queue_.empty(); });
    if (queue_.empty()) {
      return;
    }
    Slice slice = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    hash_.add(slice.bytes);
    slice = {};
    lock.lock();
  }
}

}  // namespace lamina::archive
