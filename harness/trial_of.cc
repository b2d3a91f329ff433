#include "harness/trial_of.h"

#include <fmt/format.h>

#include "harness/environment.h"

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

MemoryConfig memory_config_of(const Config& config) {
  MemoryConfig out;
  switch (config.alloc) {
    case Alloc::kMalloc: out.alloc = MemoryConfig::Alloc::kMalloc; break;
    case Alloc::kArena: out.alloc = MemoryConfig::Alloc::kArena; break;
    case Alloc::kArenaTouch: out.alloc = MemoryConfig::Alloc::kArenaTouch; break;
  }
  out.reclaim = config.reclaim;
  out.thp = config.huge_pages == HugePages::kThp;
  // Chunks are reserved without being promised: beyond this, the kernel would end the process and not
  // the run.
  out.limit = available_memory();
  return out;
}

}  // namespace latchlab
