#include "harness/config/config.h"

#include <fmt/format.h>

#include "workloads/keys.h"

namespace latchlab {

std::optional<Recording> Config::recording() const {
  return history || validate != Validate::kHistory ? history : Recording();
}

KeyKind Config::key_kind() const { return KeySet::bytes(keys.name) ? KeyKind::kBytes : KeyKind::kU64; }

std::string station_text(const StationOptions& station) {
  std::string text(word(station.mode));
  if (station.order != StationOrder::kRequest) text += fmt::format(",order={}", word(station.order));
  return text;
}

std::string batch_text(const Batching& batch) {
  if (batch.order == BatchOrder::kSideBySide) return std::to_string(batch.keys);
  if (batch.order == BatchOrder::kAuto) return std::string(word(batch.order));
  return fmt::format("{}:{}", batch.keys, word(batch.order));
}

std::string latency_text(u32 every) {
  if (every == 0) return "off";
  return every == 1 ? "all" : fmt::format("sample:{}", 1.0 / every);
}

}  // namespace latchlab
