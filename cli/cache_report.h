// What `lamina cache` says: a few lines for people, one line of JSON for
// programs. Pure.
//
// A key whose bytes are not UTF-8 is "key_b64" in JSON.
#pragma once

#include <string>

#include "cache/cache.h"

namespace lamina::cli {

std::string answer_text(const cache::Answer& answer);
std::string answer_json(const cache::Answer& answer);
// Lines of `get --batch`: the same with "ok".
std::string batch_answer(const Result<cache::Answer>& answer);
std::string batch_refusal(const std::string& why);

std::string added_text(const cache::Added& added);
std::string added_json(const cache::Added& added);
std::string contents_text(const cache::Contents& contents);
std::string contents_json(const cache::Contents& contents);
std::string evicted_text(const cache::Evicted& evicted);
std::string evicted_json(const cache::Evicted& evicted);
std::string verified_text(const cache::Verified& verified);
std::string verified_json(const cache::Verified& verified);

}  // namespace lamina::cli
