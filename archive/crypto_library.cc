#include "archive/crypto_library.h"

#include <dlfcn.h>
#include <openssl/opensslv.h>

#include <optional>
#include <string>

namespace lamina::archive {

namespace {

template <typename Function>
bool find(void* library, const char* name, Function& out) {
  // dlsym(3) gives functions as void*; POSIX lets them be cast.
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

std::optional<CryptoLibrary> load() {
  // The one whose headers this was compiled with.
  const std::string name =
      "libcrypto.so." + std::to_string(OPENSSL_SHLIB_VERSION);
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  CryptoLibrary out;
  bool found = library != nullptr &&
               find(library, "EVP_MD_CTX_new", out.context_new) &&
               find(library, "EVP_MD_CTX_free", out.context_free) &&
               find(library, "EVP_sha256", out.sha256) &&
               find(library, "EVP_DigestInit_ex", out.init) &&
               find(library, "EVP_DigestUpdate", out.update) &&
               find(library, "EVP_DigestFinal_ex", out.final);
  return found ? std::optional(out) : std::nullopt;
}

}  // namespace

const CryptoLibrary* crypto_library() {
  static const std::optional<CryptoLibrary> library = load();
  return library ? &*library : nullptr;
}

}  // namespace lamina::archive
