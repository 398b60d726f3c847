#include "cli/cache_report.h"

#include <array>
#include <ctime>

#include <nlohmann/json.hpp>

#include "archive/base64.h"
#include "base/utf8.h"
#include "cli/report_text.h"

namespace lamina::cli {

namespace {

using Json = nlohmann::ordered_json;

void put_bytes(Json& out, const std::string& name, const std::string& bytes) {
  if (is_utf8(bytes)) {
    out[name] = bytes;
  } else {
    out[name + "_b64"] = archive::encode_base64(bytes);
  }
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string row(std::string_view name, const std::string& value) {
  std::string out = "  " + std::string(name);
  out.append(out.size() < 18 ? 18 - out.size() : 1, ' ');
  return out + value + "\n";
}

std::string with_reason(std::string_view word, const std::string& reason) {
  return std::string(word) + (reason.empty() ? "" : ": " + reason);
}

Json json_of(const cache::Answer& answer) {
  Json out = {
      {"outcome", to_string(answer.outcome)},
      {"reason", answer.reason},
      {"files", answer.files},
      {"directories", answer.directories},
      {"symlinks", answer.symlinks},
      {"bytes", answer.bytes},
      {"linked", answer.linked},
      {"reflinked", answer.reflinked},
      {"copied", answer.copied},
  };
  if (answer.outcome != cache::Outcome::hit) {
    out["build"] = {{"linked", answer.build.linked},
                    {"copied", answer.build.copied},
                    {"own", answer.build.own},
                    {"variants", answer.build.variants},
                    {"bytes_copied", answer.build.bytes_copied}};
  }
  out["seconds"] = answer.seconds.count();
  return out;
}

std::string time_text(int64_t ns) {
  time_t seconds = ns / 1'000'000'000;
  tm parts = {};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

std::string answer_text(const cache::Answer& answer) {
  return row("answer", with_reason(to_string(answer.outcome), answer.reason)) +
         row("files", with_commas(answer.files) + " (" +
                          with_commas(answer.linked) + " linked, " +
                          with_commas(answer.reflinked) + " reflinked, " +
                          with_commas(answer.copied) + " copied)") +
         row("bytes", human_bytes(answer.bytes));
}

std::string answer_json(const cache::Answer& answer) {
  return line_of(json_of(answer));
}

std::string batch_answer(const Result<cache::Answer>& answer) {
  if (!answer) {
    return batch_refusal(answer.error().message());
  }
  Json out = {{"ok", true}};
  out.update(json_of(*answer));
  return line_of(out);
}

std::string batch_refusal(const std::string& why) {
  return line_of({{"ok", false}, {"error", why}});
}

std::string added_text(const cache::Added& added) {
  return row("manifest", added.recipe) +
         row("files", with_commas(added.files) +
                          (added.present ? ", all there already" : "")) +
         row("bytes", human_bytes(added.bytes)) +
         row("new blobs",
             with_commas(added.blobs) + ", " + human_bytes(added.bytes_added));
}

std::string added_json(const cache::Added& added) {
  return line_of({{"manifest", added.recipe},
                  {"present", added.present},
                  {"files", added.files},
                  {"bytes", added.bytes},
                  {"new_blobs", added.blobs},
                  {"new_bytes", added.bytes_added}});
}

std::string contents_text(const cache::Contents& contents) {
  std::string out;
  uint64_t bytes = 0;
  for (size_t at = 0; at < contents.entries.size(); ++at) {
    const cache::EntryRow& entry = contents.entries[at];
    bytes += entry.facts.bytes;
    out += time_text(entry.used_ns) + "  " + with_commas(entry.facts.files) +
           " files  " + human_bytes(entry.facts.bytes) + "  " +
           escape_name(entry.key) + (contents.in_use[at] ? "  in use" : "") +
           "\n";
  }
  return out +
         row("entries",
             with_commas(contents.entries.size()) + ", " + human_bytes(bytes)) +
         row("answers", with_commas(contents.counts.hits) + " hits, " +
                            with_commas(contents.counts.built) + " built, " +
                            with_commas(contents.counts.direct) + " direct") +
         row("evicted", with_commas(contents.counts.evicted));
}

std::string contents_json(const cache::Contents& contents) {
  Json entries = Json::array();
  for (size_t at = 0; at < contents.entries.size(); ++at) {
    const cache::EntryRow& entry = contents.entries[at];
    Json one = Json::object();
    put_bytes(one, "key", entry.key);
    one["id"] = entry.id;
    one["recipe"] = entry.recipe;
    one["files"] = entry.facts.files;
    one["bytes"] = entry.facts.bytes;
    one["made_ns"] = entry.made_ns;
    one["used_ns"] = entry.used_ns;
    one["in_use"] = static_cast<bool>(contents.in_use[at]);
    entries.push_back(std::move(one));
  }
  return line_of({{"entries", std::move(entries)},
                  {"hits", contents.counts.hits},
                  {"built", contents.counts.built},
                  {"direct", contents.counts.direct},
                  {"evicted", contents.counts.evicted}});
}

std::string evicted_text(const cache::Evicted& evicted) {
  return row("evicted", with_commas(evicted.entries) + " entries, " +
                            human_bytes(evicted.bytes)) +
         row("left in use", with_commas(evicted.in_use)) +
         row("blobs removed", with_commas(evicted.blobs));
}

std::string evicted_json(const cache::Evicted& evicted) {
  return line_of({{"entries", evicted.entries},
                  {"bytes", evicted.bytes},
                  {"in_use", evicted.in_use},
                  {"blobs", evicted.blobs}});
}

std::string verified_text(const cache::Verified& verified) {
  std::string out;
  for (const cache::Fault& fault : verified.faults) {
    out += (fault.key.empty() ? "" : "'" + escape_name(fault.key) + "': ") +
           "'" + escape_name(fault.path) + "': " + fault.what + "\n";
  }
  return out +
         row("verified", with_commas(verified.entries) + " entries, " +
                             with_commas(verified.blobs) + " blobs, " +
                             human_bytes(verified.bytes)) +
         row("faults", with_commas(verified.faults.size()));
}

std::string verified_json(const cache::Verified& verified) {
  Json faults = Json::array();
  for (const cache::Fault& fault : verified.faults) {
    Json one = Json::object();
    put_bytes(one, "key", fault.key);
    put_bytes(one, "path", fault.path);
    one["what"] = fault.what;
    faults.push_back(std::move(one));
  }
  return line_of({{"entries", verified.entries},
                  {"blobs", verified.blobs},
                  {"bytes", verified.bytes},
                  {"faults", std::move(faults)}});
}

}  // namespace lamina::cli
