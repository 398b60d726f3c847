// OpenSSL's libcrypto, loaded when the first digest is wanted.
//
// Loading it takes longer than all else that a program without digests does:
// half of the time of `lamina --version`, and of a copy of a small tree.
#pragma once

#include <openssl/evp.h>

namespace lamina::archive {

struct CryptoLibrary {
  decltype(&::EVP_MD_CTX_new) context_new = nullptr;
  decltype(&::EVP_MD_CTX_free) context_free = nullptr;
  decltype(&::EVP_sha256) sha256 = nullptr;
  decltype(&::EVP_DigestInit_ex) init = nullptr;
  decltype(&::EVP_DigestUpdate) update = nullptr;
  decltype(&::EVP_DigestFinal_ex) final = nullptr;
};

// Loaded by the first call and never unloaded; null where it is not installed.
// Any thread may call this.
const CryptoLibrary* crypto_library();

}  // namespace lamina::archive
