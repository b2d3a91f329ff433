#pragma once
// N indexes as one: a hash of the key says which of them has it. Each has a policy of its own, so operations on keys of
// different partitions do not meet. It is what the field does against one global lock. It does nothing for one hot key,
// and it costs the order of the keys.
//
//     harness --index=art_parts:64 --sync=spin
//
// A batch is split by partition, in the order of its keys. So an attempt has only the keys of one partition, about one
// for each partition if there are as many as keys.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "indexes/concepts.h"
#include "src/base/batching.h"
#include "src/base/hash.h"
#include "src/base/spec.h"
#include "src/memory/chunk_source.h"
#include "src/memory/memory_config.h"
#include "src/stats/counters.h"
#include "sync/attempt.h"
#include "sync/change.h"

namespace latchlab {

struct PartitionsOptions {
  u64 parts = 64;  ///< the number after the colon, 1 to 1024

  /// Parses a spec. Throws InputError for a number out of range, or for an option.
  static PartitionsOptions parse(const Spec& spec) {
    SpecReader reader(spec, "index " + spec.name);
    PartitionsOptions options;
    options.parts = reader.arg_u64(options.parts, 1, 1024);
    reader.finish();
    return options;
  }
  std::vector<std::pair<std::string, std::string>> resolved() const { return {{"parts", std::to_string(parts)}}; }
  /// Returns the meaning of an option, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key) {
    return key == "parts" ? "the number after the colon: how many indexes there are, each with its own lock" : "";
  }
};

/// Partitions that are indexes of numbers joined to a policy (Map, a Synchronized), as callers see them: a SharedIndex.
/// Operations promise what those of Synchronized do, a batch as well. The policy counts nothing, since a thread has one
/// set of counters.
template <class Map>
class Partitions {
 public:
  using Policy = typename Map::Policy;
  using Machine = typename Map::Machine;
  using Key = typename Map::Key;
  using Raw = typename Map::Raw;
  using Options = PartitionsOptions;
  static constexpr bool kOrdered = false;
  static constexpr bool kSideBySide = Map::kSideBySide;
  static_assert(std::same_as<typename Map::Counters, NoCounters>);
  static_assert(std::same_as<Raw, u64>);

  class ThreadState {
   public:
    explicit ThreadState(Partitions& index) {
      parts_.reserve(index.parts_.size());
      for (const auto& part : index.parts_) parts_.push_back(std::make_unique<typename Map::ThreadState>(*part));
    }

    NoCounters counters;

   private:
    friend Partitions;
    std::vector<std::unique_ptr<typename Map::ThreadState>> parts_;
  };

  /// Makes empty partitions, each with memory of its own. Throws InputError for a spec that is refused, and
  /// std::bad_alloc.
  Partitions(const Spec& policy, const MemoryConfig& memory,
             const Spec& index = {.name = "parts", .arg = {}, .options = {}}) {
    parts_.resize(Options::parse(index).parts);
    for (auto& part : parts_) part = std::make_unique<Map>(policy, memory);
  }

  /// Returns which of so many partitions has a key. The hash is not the one of a table, whose buckets would be uneven.
  static std::size_t part_of(Raw key, std::size_t parts) {
    return static_cast<std::size_t>((mix64(key ^ 0x9e3779b97f4a7c15u) >> 32) * parts >> 32);
  }

  /// Takes mutexes. Throws std::bad_alloc.
  ThreadState join() { return ThreadState(*this); }
  void idle(ThreadState& me) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->idle(*me.parts_[i]);
  }

  Found find(ThreadState& me, Raw key) const {
    const std::size_t at = part_of(key);
    return parts_[at]->find(*me.parts_[at], key);
  }
  bool insert(ThreadState& me, Raw key, u64 value) {
    const std::size_t at = part_of(key);
    return parts_[at]->insert(*me.parts_[at], key, value);
  }
  bool update(ThreadState& me, Raw key, u64 value) {
    const std::size_t at = part_of(key);
    return parts_[at]->update(*me.parts_[at], key, value);
  }
  bool upsert(ThreadState& me, Raw key, u64 value) {
    const std::size_t at = part_of(key);
    return parts_[at]->upsert(*me.parts_[at], key, value);
  }
  bool erase(ThreadState& me, Raw key) {
    const std::size_t at = part_of(key);
    return parts_[at]->erase(*me.parts_[at], key);
  }
  template <class Change>
  Changed update_if(ThreadState& me, Raw key, const Change& change) {
    const std::size_t at = part_of(key);
    return parts_[at]->update_if(*me.parts_[at], key, change);
  }
  template <class Wanted>
  Changed erase_if(ThreadState& me, Raw key, const Wanted& wanted) {
    const std::size_t at = part_of(key);
    return parts_[at]->erase_if(*me.parts_[at], key, wanted);
  }
  template <class F>
  Modified modify(ThreadState& me, Raw key, const F& f) {
    const std::size_t at = part_of(key);
    return parts_[at]->modify(*me.parts_[at], key, f);
  }

  void find_batch(ThreadState& me, std::span<const Raw> keys, std::span<Found> found,
                  BatchOrder order = BatchOrder::kSideBySide) const {
    by_part(keys, [&](std::size_t at, const Some& some) {
      std::array<Found, kMostInAttempt> answers;
      parts_[at]->find_batch(*me.parts_[at], some.keys(), std::span(answers).first(some.count), order);
      for (std::size_t i = 0; i < some.count; ++i) found[some.places[i]] = answers[i];
    });
  }
  void insert_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values, std::span<bool> inserted,
                    BatchOrder order = BatchOrder::kSideBySide) {
    change(keys, values, inserted, [&](std::size_t at, auto some_keys, auto some_values, auto done) {
      parts_[at]->insert_batch(*me.parts_[at], some_keys, some_values, done, order);
    });
  }
  void update_batch(ThreadState& me, std::span<const Raw> keys, std::span<const u64> values, std::span<bool> changed,
                    BatchOrder order = BatchOrder::kSideBySide) {
    change(keys, values, changed, [&](std::size_t at, auto some_keys, auto some_values, auto done) {
      parts_[at]->update_batch(*me.parts_[at], some_keys, some_values, done, order);
    });
  }
  void erase_batch(ThreadState& me, std::span<const Raw> keys, std::span<bool> erased,
                   BatchOrder order = BatchOrder::kSideBySide) {
    change(keys, {}, erased, [&](std::size_t at, auto some_keys, auto, auto done) {
      parts_[at]->erase_batch(*me.parts_[at], some_keys, done, order);
    });
  }

  /// Visits every pair, in no order. Must not run beside changes.
  template <class Visit>
  void for_each(ThreadState& me, Visit&& visit) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i]->for_each(*me.parts_[i], visit);
  }

  /// Returns the bytes of all partitions. Exact only while no operation runs.
  Footprint bytes() const {
    const u64 maps = parts_.size() * sizeof(Map);  // they stay when the last key is erased
    Footprint all{.live = maps, .room = maps, .reserved = maps};
    for (const auto& part : parts_) all += part->bytes();
    return all;
  }
  std::vector<ChunkSource::Chunk> chunks() const {
    std::vector<ChunkSource::Chunk> all;
    for (const auto& part : parts_) {
      for (const ChunkSource::Chunk& chunk : part->chunks()) all.push_back(chunk);
    }
    return all;
  }

 private:
  /// Keys of a batch that are in one partition, with their places in the batch.
  struct Some {
    std::span<const Raw> keys() const { return {raws.data(), count}; }

    std::array<Raw, kMostInAttempt> raws;
    std::array<u32, kMostInAttempt> places;
    std::size_t count = 0;
  };

  std::size_t part_of(Raw key) const { return part_of(key, parts_.size()); }

  /// Calls f(partition, keys) for each partition that keys are in, group after group of up to kMostInAttempt keys. Keys
  /// of one partition keep their order. O(keys * partitions that they are in).
  template <class F>
  void by_part(std::span<const Raw> keys, const F& f) const {
    for (std::size_t first = 0; first < keys.size(); first += kMostInAttempt) {
      const std::size_t count = std::min<std::size_t>(keys.size() - first, kMostInAttempt);
      std::array<u32, kMostInAttempt> part;
      for (std::size_t i = 0; i < count; ++i) part[i] = static_cast<u32>(part_of(keys[first + i]));
      for (std::size_t i = 0; i < count; ++i) {
        if (part[i] == kTaken) continue;
        Some some;
        for (std::size_t k = i, at = part[i]; k < count; ++k) {
          if (part[k] != at) continue;
          some.raws[some.count] = keys[first + k];
          some.places[some.count++] = static_cast<u32>(first + k);
          if (k != i) part[k] = kTaken;
        }
        f(part[i], some);
      }
    }
  }
  /// Copies an answer that may not have been written yet: its byte may be no bool.
  static void copy(bool& to, const bool& from) { std::memcpy(&to, &from, sizeof(bool)); }
  template <class Call>
  void change(std::span<const Raw> keys, std::span<const u64> values, std::span<bool> done, const Call& call) {
    by_part(keys, [&](std::size_t at, const Some& some) {
      std::array<u64, kMostInAttempt> some_values;
      std::array<bool, kMostInAttempt> some_done;
      for (std::size_t i = 0; i < some.count; ++i) {
        if (!values.empty()) some_values[i] = values[some.places[i]];
        copy(some_done[i], done[some.places[i]]);  // stays where the call does not get so far
      }
      const auto answer = [&] {
        for (std::size_t i = 0; i < some.count; ++i) copy(done[some.places[i]], some_done[i]);
      };
      try {
        call(at, some.keys(), std::span<const u64>(some_values).first(some.count),
             std::span(some_done).first(some.count));
      } catch (...) {
        answer();  // the operations before the one that threw stay done
        throw;
      }
      answer();
    });
  }

  static constexpr u32 kTaken = ~0u;

  std::vector<std::unique_ptr<Map>> parts_;
};

}  // namespace latchlab
