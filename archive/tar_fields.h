// From a header and the meta headers before it to an entry: which source counts
// for each field, and what values are allowed.
//
// Pure but for the text store given. Errors name no entry.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "archive/pax.h"
#include "archive/tar_entry.h"
#include "archive/tar_header.h"
#include "archive/tar_name.h"
#include "base/error.h"

namespace lamina::archive {

// All that speaks about one entry.
struct TarParts {
  std::string_view block;
  TarHeader header;
  PaxRecords pax;
  std::optional<std::string_view> long_name;
  std::optional<std::string_view> long_link;
};

// Text made while an entry is read, one store for each entry that needs any.
class TextStore {
 public:
  TarText& get();
  // Gives the store away, if anything was put into it.
  std::shared_ptr<const TarText> take() { return std::move(text_); }

 private:
  std::shared_ptr<TarText> text_;
};

// The name as the archive writes it.
std::string_view raw_name(const TarParts& parts, TextStore& store);

// Says what the entry is. Fails for the types that have no meaning in a layer.
// `name` is the raw one.
Result<EntryType> entry_type(const TarParts& parts, std::string_view name);

// Sets path and link from the raw name. Requires the type to be set.
Result<void> set_names(const TarParts& parts, std::string_view name,
                       const NameLimits& limits, TextStore& store,
                       TarEntry& entry);

// Sets mode, owner, times, device and extended attributes. Owners beyond 32
// bits and the value that means "leave it", chown(2), are refused.
Result<void> set_attributes(TarParts& parts, TarEntry& entry);

}  // namespace lamina::archive
