#include "tests/copy/batching.h"

#include <filesystem>

namespace lamina::test {

std::string error_of(const copy::BatchResult& result) {
  if (result)
    return "";
  const copy::BatchFailure& failure = result.error();
  return (failure.index ? std::to_string(*failure.index) : "none") + ": " +
         failure.error.message();
}

Entries& Entries::add(std::string path, std::string data,
                      std::optional<mode_t> mode) {
  copy::BatchEntry entry;
  entry.path = keep(std::move(path));
  entry.data = std::as_bytes(std::span(keep(std::move(data))));
  entry.mode = mode;
  entries_.push_back(entry);
  return *this;
}

Entries& Entries::from(std::string path, std::string file) {
  copy::BatchEntry entry;
  entry.path = keep(std::move(path));
  entry.from = keep(std::move(file));
  entries_.push_back(entry);
  return *this;
}

std::vector<std::string> Batching::temporaries() const {
  std::vector<std::string> out;
  if (!exists(root()))
    return out;
  for (const auto& found :
       std::filesystem::recursive_directory_iterator(root())) {
    const std::string name = found.path().filename();
    if (name.starts_with(".lamina-"))
      out.push_back(found.path());
  }
  return out;
}

}  // namespace lamina::test
