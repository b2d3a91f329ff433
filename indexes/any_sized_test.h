#pragma once
// Indexes of sized values (sized.h) whose type is erased, for the tests of all of them: under policies of every class
// of transactions, with a plan of failures.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/sized.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/memory/failure_plan.h"
#include "src/testing/catch.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/spin.h"
#include "sync/synchronized.h"

namespace latchlab::testing::any_sized {

using Alloc = MemoryConfig::Alloc;

inline ByteSpan bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string text_in(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
/// Returns a text of `size` bytes that a number determines.
inline std::string text_of(u64 size, u64 number) {
  std::string text(size, '\0');
  for (u64 i = 0; i < size; ++i) text[i] = static_cast<char>(number * 31 + i);
  return text;
}
inline constexpr u64 kLengths[] = {0, 1, 7, 8, 9, 24, 40, 100, 1000, 5000, 70'000};

using Show = std::function<void(ByteSpan)>;
using Wish = std::function<Change(std::optional<ByteSpan>)>;
using BatchWish = std::function<Change(std::size_t, std::optional<ByteSpan>)>;

/// One thread's access to an index of sized values whose type is erased.
struct AnySession {
  virtual ~AnySession() = default;
  virtual bool find(u64 key, const Show& show) = 0;
  virtual std::size_t find_batch(std::span<const u64> keys, const std::function<void(std::size_t, ByteSpan)>& show) = 0;
  // Without `show` these call the forms without `before`.
  virtual bool insert(u64 key, ByteSpan value, const Show& show = {}) = 0;
  virtual bool upsert(u64 key, ByteSpan value, const Show& show = {}) = 0;
  virtual bool update(u64 key, ByteSpan value, const Show& show = {}) = 0;
  virtual bool erase(u64 key, const Show& show = {}) = 0;
  virtual Effect modify(u64 key, const Wish& wish) = 0;
  virtual void insert_batch(std::span<const u64> keys, std::span<const ByteSpan> values, std::span<bool> done) = 0;
  virtual void upsert_batch(std::span<const u64> keys, std::span<const ByteSpan> values, std::span<bool> done) = 0;
  virtual void erase_batch(std::span<const u64> keys, std::span<bool> done) = 0;
  virtual void modify_batch(std::span<const u64> keys, std::span<Effect> effects, const BatchWish& wish) = 0;
  virtual void for_each(const std::function<void(u64, ByteSpan)>& show) = 0;
  /// Scans from key 0; shows nothing if the index is not ordered.
  virtual void scan(std::size_t limit, const std::function<void(u64, ByteSpan)>& show) = 0;
  /// Returns a pin's bytes, as a function that owns the pin; nothing if the key is absent.
  virtual std::function<ByteSpan()> pin(u64 key) = 0;
  virtual void idle() = 0;
};
struct AnyIndex {
  virtual ~AnyIndex() = default;
  virtual std::unique_ptr<AnySession> join() = 0;
  virtual SizedFootprint bytes() const = 0;
  virtual ReclaimCounters counters() const = 0;
};

template <class Map>
class SizedSession : public AnySession {
 public:
  explicit SizedSession(Sized<Map>& index) : index_(index), me_(index.join()) {}

  bool find(u64 key, const Show& show) override { return index_.find(me_, key, show); }
  std::size_t find_batch(std::span<const u64> keys, const std::function<void(std::size_t, ByteSpan)>& show) override {
    return index_.find_batch(me_, keys, show);
  }
  bool insert(u64 key, ByteSpan value, const Show& show) override {
    return show ? index_.insert(me_, key, value, show) : index_.insert(me_, key, value);
  }
  bool upsert(u64 key, ByteSpan value, const Show& show) override {
    return show ? index_.upsert(me_, key, value, show) : index_.upsert(me_, key, value);
  }
  bool update(u64 key, ByteSpan value, const Show& show) override {
    return show ? index_.update(me_, key, value, show) : index_.update(me_, key, value);
  }
  bool erase(u64 key, const Show& show) override {
    return show ? index_.erase(me_, key, show) : index_.erase(me_, key);
  }
  Effect modify(u64 key, const Wish& wish) override { return index_.modify(me_, key, wish); }
  void insert_batch(std::span<const u64> keys, std::span<const ByteSpan> values, std::span<bool> done) override {
    index_.insert_batch(me_, keys, values, done);
  }
  void upsert_batch(std::span<const u64> keys, std::span<const ByteSpan> values, std::span<bool> done) override {
    index_.upsert_batch(me_, keys, values, done);
  }
  void erase_batch(std::span<const u64> keys, std::span<bool> done) override { index_.erase_batch(me_, keys, done); }
  void modify_batch(std::span<const u64> keys, std::span<Effect> effects, const BatchWish& wish) override {
    index_.modify_batch(me_, keys, effects, wish);
  }
  void for_each(const std::function<void(u64, ByteSpan)>& show) override { index_.for_each(me_, show); }
  void scan(std::size_t limit, const std::function<void(u64, ByteSpan)>& show) override {
    if constexpr (Map::kOrdered) (void)index_.scan(me_, 0, limit, show);
  }
  std::function<ByteSpan()> pin(u64 key) override {
    auto pinned = index_.pin(me_, key);
    if (!pinned) return {};
    return [shared = std::make_shared<Pinned<typename Map::Machine>>(*std::move(pinned))] { return shared->bytes(); };
  }
  void idle() override { index_.idle(me_); }

 private:
  Sized<Map>& index_;
  typename Sized<Map>::ThreadState me_;
};
template <class Map>
class SizedIndex : public AnyIndex {
 public:
  SizedIndex(const Spec& policy, const MemoryConfig& memory) : index_(memory, policy, memory) {}
  std::unique_ptr<AnySession> join() override { return std::make_unique<SizedSession<Map>>(index_); }
  SizedFootprint bytes() const override { return index_.bytes(); }
  ReclaimCounters counters() const override { return index_.reclaim_counters(); }

 private:
  Sized<Map> index_;
};

struct Subject {
  std::string name;
  bool shared;  // several threads may change it
  std::function<std::unique_ptr<AnyIndex>(const MemoryConfig&)> make;
};
template <template <class, class> class Index, class Policy>
Subject subject(bool shared = true) {
  std::string name(Index<typename Policy::Layout, U64Key>::kName);
  name.append(" under ").append(Policy::kName).append(" on ").append(Policy::Machine::kName);
  return {name, shared,
          [spec = Spec::parse(std::string(Policy::kName))](const MemoryConfig& memory) -> std::unique_ptr<AnyIndex> {
            return std::make_unique<SizedIndex<Synchronized<Index, Policy, U64Key>>>(spec, memory);
          }};
}
inline std::vector<Subject> subjects() {
  return {subject<Art, Spin<Native>>(),     subject<Art, Olc<Native>>(),      subject<Art, Rtm<Emulated>>(),
          subject<Cuckoo, Spin<Native>>(),  subject<Cuckoo, Olc<Native>>(),   subject<Cuckoo, Rtm<Emulated>>(),
          subject<Chained, Spin<Native>>(), subject<Chained, Olc<Native>>(),  subject<Chained, Rtm<Emulated>>(),
          subject<Art, Rtm<Native>>(),      subject<Art, None<Native>>(false)};
}

/// An index of a subject, with its plan of failures.
struct Indexed {
  FailurePlan plan;
  MemoryBudget limit{u64{1} << 40};  // for its count of bytes
  std::unique_ptr<AnyIndex> index;

  explicit Indexed(const Subject& subject, Alloc alloc = Alloc::kArena, Reclaim reclaim = Reclaim::kEpoch)
      : index(subject.make({.alloc = alloc, .reclaim = reclaim, .limit = limit, .fail = &plan})) {}
  AnyIndex* operator->() { return index.get(); }
  /// Returns the live bytes of the values after the last session has ended.
  u64 live_after_all() {
    index->join();
    return index->bytes().values.live;
  }
};

inline std::optional<std::string> found(AnySession& me, u64 key) {
  std::optional<std::string> text;
  const bool present = me.find(key, [&](ByteSpan value) { text = text_in(value); });
  REQUIRE(present == text.has_value());
  return text;
}

}  // namespace latchlab::testing::any_sized
