#include "services/rocksdb/secondary_cache.h"

#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/base/new_file.h"
#include "src/base/words.h"
#include "src/memory/memory_config.h"
#include "src/stats/counters.h"

namespace latchlab::tier {

namespace {

using rocksdb::Slice;
using rocksdb::Status;

std::string_view text_of(const Slice& key) { return {key.data(), key.size()}; }

/// The end of a copy that RocksDB's callback refuses.
struct NotSaved {
  Status why;
};

std::optional<Medium> open_medium(const TierOptions& options) {
  if (!options.far) return std::nullopt;
  return std::optional<Medium>(std::in_place, *options.far, "far");
}

std::optional<BlockStore::Charge> open_charge(const std::optional<Medium>& medium) {
  if (!medium || !medium->is_modelled()) return std::nullopt;
  return std::optional<BlockStore::Charge>(std::in_place, medium->options().speed,
                                           BlockStore::Charge::measured_slack());
}

/// Returns the memory of the blocks.
MemoryConfig far_memory(const TierOptions& options, const std::optional<Medium>& medium) {
  if (medium) return medium->memory({.alloc = MemoryConfig::Alloc::kArena});
  // Blocks of a database have all sizes around one of 4 KiB or so. The classes of an arena would waste up to a fifth.
  return {.alloc = MemoryConfig::Alloc::kMalloc,
          .limit = MemoryBudget(options.size),
          .malloc_alignment = alignof(std::max_align_t)};
}

std::optional<Ghosts> make_ghosts(const TierOptions& options) {
  if (options.rule != PlacementKind::kSecondTouch) return std::nullopt;
  // Keys are remembered for as long as about three times the blocks that fit take to come.
  constexpr u64 kUsualBlock = 4096, kTimes = 3;
  return std::optional<Ghosts>(std::in_place, kTimes * options.size / kUsualBlock);
}

/// The result of a lookup, which is ready at once. RocksDB owns the object.
class Ready final : public rocksdb::SecondaryCacheResultHandle {
 public:
  Ready(void* value, size_t size) : value_(value), size_(size) {}
  bool IsReady() override { return true; }
  void Wait() override {}
  void* Value() override { return value_; }
  size_t Size() override { return size_; }

 private:
  void* const value_;
  const size_t size_;
};

}  // namespace

TierCache::TierCache(std::string uri, TierOptions options)
    : uri_(std::move(uri)),
      options_(std::move(options)),
      medium_(open_medium(options_)),
      charge_(open_charge(medium_)),
      speed_(options_.stats.empty() ? std::nullopt
                                    : measure_copies(far_memory(options_, medium_), charge_ ? &*charge_ : nullptr)),
      store_(far_memory(options_, medium_), charge_ ? &*charge_ : nullptr),
      ghosts_(make_ghosts(options_)) {}

bool TierCache::takes(const Slice& key) {
  if (!ghosts_) return true;
  const bool known = ghosts_->offer(BlockHash::of(text_of(key)));
  if (known || !store_.was_full()) return true;
  passed_.fetch_add(1, kRelaxed);  // a count, which guards no memory
  return false;
}

Status TierCache::Insert(const Slice& key, void* value, const rocksdb::Cache::CacheItemHelper* helper) {
  try {
    if (!takes(key)) return Status::OK();
    const size_t size = helper->size_cb(value);
    // A block that is refused is only a miss to come, so the result says nothing.
    (void)store_.put(text_of(key), size, [&](std::span<std::byte> to) {
      Status saved = helper->saveto_cb(value, 0, to.size(), to.data());
      if (!saved.ok()) throw NotSaved{std::move(saved)};
    });
    return Status::OK();
  } catch (const NotSaved& end) {
    return end.why;
  } catch (...) {
    return Status::MemoryLimit("latchlab");
  }
}

std::unique_ptr<rocksdb::SecondaryCacheResultHandle> TierCache::Lookup(const Slice& key,
                                                                       const rocksdb::Cache::CreateCallback& create_cb,
                                                                       bool /*wait*/, bool advise_erase,
                                                                       bool& is_in_sec_cache) {
  is_in_sec_cache = false;
  try {
    std::unique_ptr<rocksdb::SecondaryCacheResultHandle> result;
    const auto create = [&](ByteSpan block) {
      void* object = nullptr;
      size_t charge = 0;
      if (create_cb(block.data(), block.size(), &object, &charge).ok())
        result = std::make_unique<Ready>(object, charge);
    };
    if (advise_erase || options_.promote == 1) {
      (void)store_.take(text_of(key), create);
    } else {
      is_in_sec_cache = store_.find(text_of(key), create);
    }
    return result;
  } catch (...) {
    return nullptr;
  }
}

void TierCache::Erase(const Slice& key) {
  try {
    (void)store_.erase(text_of(key));
  } catch (...) {
    // The block stays. That is allowed: a key of a cache names one content for ever.
    return;
  }
}

void TierCache::WaitAll(std::vector<rocksdb::SecondaryCacheResultHandle*> /*handles*/) {}

Status TierCache::GetCapacity(size_t& capacity) {
  capacity = options_.size;
  return Status::OK();
}

std::string TierCache::GetPrintableOptions() const {
  try {
    return fmt::format(
        "    latchlab.uri : {}\n    latchlab.size : {}\n    latchlab.rule : {}\n    latchlab.promote : {}\n", uri_,
        options_.size, word(options_.rule), options_.promote);
  } catch (...) {
    return {};
  }
}

std::string TierCache::counts_json() const {
  const BlockCounters counters = store_.counters();
  const std::string_view kind = options_.far ? word(options_.far->kind) : "heap";
  nlohmann::ordered_json document{{"uri", uri_},
                                  {"medium", medium_ && medium_->is_modelled() ? "modelled" : kind},
                                  {"far", options_.far ? options_.far->str() : ""},
                                  {"size", options_.size},
                                  {"model", nullptr},
                                  {"copies", nullptr},
                                  {"rule", word(options_.rule)},
                                  {"promote", options_.promote},
                                  {"charged", store_.charged()},
                                  {"index_bytes", store_.index_bytes()},
                                  {"blocks", counters.blocks()},
                                  {"ghost_bytes", ghosts_ ? ghosts_->bytes() : 0},
                                  {"passed", passed_.load(kRelaxed)},
                                  {"bytes", counters.bytes()}};
  if (medium_ && medium_->is_modelled()) {
    const MediumSpeed& speed = medium_->options().speed;
    document["model"] = {{"latency_ns", speed.latency_ns},
                         {"read_gbps", speed.read_gbps},
                         {"write_gbps", speed.write_gbps},
                         {"granule", speed.granule}};
  }
  if (speed_) {
    document["copies"] = {{"read_ns", speed_->read_ns},
                          {"write_ns", speed_->write_ns},
                          {"read_gbps", speed_->read_gbps},
                          {"write_gbps", speed_->write_gbps}};
  }
  for_each_counter(counters, [&](std::string_view name, u64 count) { document[std::string(name)] = count; });
  return document.dump(2) + "\n";
}

void TierCache::write_stats() const {
  if (options_.stats.empty()) return;
  NewFile file("stats", options_.stats);
  file.write(counts_json());
  file.keep();
}

}  // namespace latchlab::tier
