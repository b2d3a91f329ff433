#include "harness/loop/trial_of.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/host/environment.h"

namespace latchlab {

std::string shown(u64 key) { return fmt::format("{}", key); }

std::string shown(std::string_view key) {
  std::string out = "\"";
  for (const char c : key.substr(0, 64)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= 32 && byte < 127 ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out + (key.size() > 64 ? "\"..." : "\"");
}

namespace {

template <class Raw>
void note_wrong(Contents& contents, Raw key, u64 value) {
  if (contents.example.empty()) contents.example = fmt::format("key {} holds {:#x}, which is not its value", shown(key), value);
  ++contents.wrong_values;
}
template <class Raw>
void note_before(Contents& contents, Raw before, Raw key) {
  if (contents.example.empty()) contents.example = fmt::format("key {} comes after key {}", shown(key), shown(before));
  ++contents.disorder;
}

}  // namespace

void note_wrong_value(Contents& contents, u64 key, u64 value) { note_wrong(contents, key, value); }
void note_wrong_value(Contents& contents, std::string_view key, u64 value) { note_wrong(contents, key, value); }
void note_disorder(Contents& contents, u64 before, u64 key) { note_before(contents, before, key); }
void note_disorder(Contents& contents, std::string_view before, std::string_view key) { note_before(contents, before, key); }

namespace {

/// For index and payloads together.
MemoryConfig memory_of_both(const Config& config) {
  MemoryConfig out;
  out.alloc = calls_malloc(config.alloc)        ? MemoryConfig::Alloc::kMalloc
              : config.alloc == Alloc::kArena ? MemoryConfig::Alloc::kArena
                                              : MemoryConfig::Alloc::kArenaTouch;
  out.pages = config.pages;
  out.reclaim = config.reclaim;
  out.thp = config.huge_pages == HugePages::kThp;
  // Chunks are reserved without being promised: beyond this, the kernel would end the process and not
  // the run.
  out.limit = std::min(available_memory(), available_memory_on(config.pages));
  return out;
}

}  // namespace

MemoryConfig memory_config_of(const Config& config) {
  MemoryConfig out = memory_of_both(config);
  out.limit -= std::min(out.limit - 1, config.payload_bytes());   // zero would be no limit
  return out;
}

std::unique_ptr<Payloads> payloads_of(const Config& config) {
  if (config.payloads == 0) return nullptr;
  return std::make_unique<Payloads>(config.payloads, config.value_size, memory_of_both(config));
}

}  // namespace latchlab
