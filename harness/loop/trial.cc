#include "harness/loop/trial.h"

#include <algorithm>
#include <span>
#include <type_traits>

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

/// A copy of a key, which outlives the bytes that a view refers to.
template <class Raw>
using Kept = std::conditional_t<std::is_same_v<Raw, std::string_view>, std::string, Raw>;

template <class Raw>
Contents walk(Erased& index, u32 value_bits) {
  Contents out;
  Kept<Raw> last{};
  index.join()->for_each_at_rest([&](ErasedKey erased, u64 value) {
    const Raw key = raw_of<Raw>(erased);
    if (!tag_matches(key, value, value_bits)) {
      ++out.wrong_values;
      if (out.example.empty())
        out.example = fmt::format("key {} holds {:#x}, which is not its value", shown(key), value);
    }
    if (index.ordered()) {
      if (out.keys > 0 && !(Raw(last) < key)) {
        ++out.disorder;
        if (out.example.empty()) out.example = fmt::format("key {} comes after key {}", shown(key), shown(Raw(last)));
      }
      last = key;
    }
    ++out.keys;
    out.checksum += value >> value_bits / 2;
  });
  return out;
}

}  // namespace

MemoryConfig memory_config_of(const Plan& plan) {
  const Config& config = plan.config;
  MemoryConfig out;
  out.alloc = calls_malloc(config.alloc)      ? MemoryConfig::Alloc::kMalloc
              : config.alloc == Alloc::kArena ? MemoryConfig::Alloc::kArena
                                              : MemoryConfig::Alloc::kArenaTouch;
  out.pages = plan.pages;
  out.reclaim = config.reclaim;
  out.thp = config.huge_pages == HugePages::kThp;
  // Reserving chunks does not commit memory. Beyond this limit the kernel would kill the process, not just the run.
  const u64 free = available_memory();
  out.limit = plan.model ? free : std::min(free, available_memory_on(plan.pages));
  return out;
}

void Trial::prepare(const Plan& plan) {
  batch_ = plan.config.batch;
  value_bits_ = plan.widths.value;
}

OrReason<double> Trial::nodes_per_fetch(const Slice& slice) {
  u64 nodes = 0, fetches = 0;
  const auto session = join();
  const auto visit = [&](const Request& read) {
    nodes += session->visits(numbers() ? ErasedKey(read.number) : ErasedKey(std::string_view(read.bytes, read.length)));
    ++fetches;
  };
  for (const Request& request : std::span(slice.requests, slice.count)) {
    if (request.kind == OpKind::kRead) visit(request);
    if (request.kind == OpKind::kMultiGet) std::for_each_n(slice.gets + request.number, request.limit, visit);
  }
  if (fetches == 0)
    return OrReason<double>::missing(
        fmt::format("none of the {} operations that were examined is a lookup", slice.count));
  return static_cast<double>(nodes) / static_cast<double>(fetches);
}

Contents Trial::contents() {
  return numbers() ? walk<u64>(*this, value_bits_) : walk<std::string_view>(*this, value_bits_);
}

}  // namespace latchlab
