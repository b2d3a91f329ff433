#pragma once
// A type-erased index of sized values (sized.h): bytes in, bytes out, at most one virtual call a batch. Code that is
// compiled once for all such indexes uses it, as indexes/erased.h is used for indexes of words.
//
//     const std::unique_ptr<ErasedSized<u64>> index = std::make_unique<ErasedSizedOf<Map>>(values, policy, memory);
//     const auto me = index->join();
//     me->upsert(7, bytes);
//     me->update_vector(7, {vectors::UpdateFunction::kAdd, 1.0f});   // the value is an array of floats
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "indexes/sized.h"
#include "indexes/sized_modify.h"
#include "indexes/sized_vectors.h"
#include "src/base/function_ref.h"
#include "src/base/types.h"
#include "src/memory/values.h"
#include "src/reclaim/reclaimer.h"
#include "src/vector/element.h"
#include "src/vector/filter.h"
#include "src/vector/reduce.h"
#include "src/vector/update.h"
#include "sync/change.h"

namespace latchlab {

/// `Raw` is the type of the keys: u64 or std::string_view.
template <class Raw>
class ErasedSized {
 public:
  /// Gets a value's bytes, which are valid during the call. It must not use the session.
  using Show = FunctionRef<void(ByteSpan)>;
  static constexpr auto kShowNothing = [](ByteSpan) {};

  /// One thread's access to the index. That thread makes, uses and destroys the session, before the index is destroyed.
  /// What operations promise, and what they throw, is said in sized.h. Spans have an element for each key.
  class Session {
   public:
    Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    virtual ~Session() = default;

    virtual bool find(Raw key, Show show) = 0;
    virtual std::size_t find_batch(std::span<const Raw> keys, FunctionRef<void(std::size_t, ByteSpan)> show) = 0;

    virtual bool insert(Raw key, ByteSpan value) = 0;
    // `before` gets the value that the key had.
    virtual bool insert(Raw key, ByteSpan value, Show before) = 0;
    virtual bool upsert(Raw key, ByteSpan value, Show before = kShowNothing) = 0;
    virtual bool update(Raw key, ByteSpan value, Show before = kShowNothing) = 0;
    virtual bool erase(Raw key, Show before = kShowNothing) = 0;
    virtual Effect modify(Raw key, FunctionRef<Change(std::optional<ByteSpan>)> wish) = 0;

    virtual void insert_batch(std::span<const Raw> keys, std::span<const ByteSpan> values, std::span<bool> done) = 0;
    virtual void upsert_batch(std::span<const Raw> keys, std::span<const ByteSpan> values, std::span<bool> done) = 0;
    virtual void erase_batch(std::span<const Raw> keys, std::span<bool> done) = 0;
    virtual void modify_batch(std::span<const Raw> keys, std::span<Effect> effects,
                              FunctionRef<Change(std::size_t, std::optional<ByteSpan>)> wish) = 0;

    /// Does what sized::update_vector does (sized_vectors.h).
    virtual vectors::Status update_vector(Raw key, const vectors::Update& update, Show before = kShowNothing,
                                          Show after = kShowNothing) = 0;
    /// Returns a number of the key's vector. The status is also kAbsent. O(size).
    [[nodiscard]] vectors::Reduced reduce_vector(Raw key, vectors::Element element, vectors::Reduction reduction) {
      vectors::Reduced reduced{vectors::Status::kAbsent, {}};
      find(key, [&](ByteSpan value) { reduced = vectors::reduce(element, reduction, value); });
      return reduced;
    }
    /// Sets `out` to the elements of the key's vector that match. The status is also kAbsent. O(size). Throws
    /// std::bad_alloc.
    vectors::Filtered filter_matches(Raw key, const vectors::Filter& filter, std::vector<std::byte>& out) {
      vectors::Filtered filtered{vectors::Status::kAbsent};
      find(key, [&](ByteSpan value) {
        out.resize(value.size());
        filtered = vectors::filter_matches(filter, value, out);
      });
      out.resize(filtered.matches * vectors::size_of(filter.operand.element()));
      return filtered;
    }
    /// Sets `out` to their bitmap; to nothing if the status is not kDone. Throws std::bad_alloc.
    vectors::Filtered filter_bitmap(Raw key, const vectors::Filter& filter, std::vector<std::byte>& out) {
      vectors::Filtered filtered{vectors::Status::kAbsent};
      find(key, [&](ByteSpan value) {
        out.resize(vectors::bitmap_bytes(filter.operand.element(), value.size()));
        filtered = vectors::filter_bitmap(filter, value, out);
      });
      if (filtered.status != vectors::Status::kDone) out.clear();
      return filtered;
    }

    virtual void for_each(FunctionRef<void(Raw, ByteSpan)> show) = 0;
    /// Visits up to `limit` pairs from `from` on, in order; none if the index is not ordered. Returns their number.
    virtual std::size_t scan(Raw from, std::size_t limit, FunctionRef<void(Raw, ByteSpan)> show) = 0;
    /// Returns a function that has a pin of the value, and returns its bytes; an empty one if the key is absent.
    virtual std::function<ByteSpan()> pin(Raw key) = 0;
    /// Declares that the thread runs no operation for a while.
    virtual void idle() = 0;
  };

  ErasedSized() = default;
  ErasedSized(const ErasedSized&) = delete;
  ErasedSized& operator=(const ErasedSized&) = delete;
  virtual ~ErasedSized() = default;

  [[nodiscard]] virtual std::unique_ptr<Session> join() = 0;
  [[nodiscard]] virtual SizedFootprint bytes() const = 0;
  [[nodiscard]] virtual ReclaimCounters reclaim_counters() const = 0;
};

/// Sized over `Map`, a Synchronized, with its type erased.
template <class Map>
class ErasedSizedOf final : public ErasedSized<typename Map::Raw> {
  using Raw = typename Map::Raw;
  using Base = ErasedSized<Raw>;
  using Show = typename Base::Show;

 public:
  /// The arguments are those of Sized.
  template <class... Arguments>
  explicit ErasedSizedOf(const MemoryConfig& values, Arguments&&... index)
      : index_(values, std::forward<Arguments>(index)...) {}

  std::unique_ptr<typename Base::Session> join() override { return std::make_unique<Session>(index_); }
  SizedFootprint bytes() const override { return index_.bytes(); }
  ReclaimCounters reclaim_counters() const override { return index_.reclaim_counters(); }

 private:
  class Session final : public Base::Session {
   public:
    explicit Session(Sized<Map>& index) : index_(index), me_(index.join()) {}

    bool find(Raw key, Show show) override { return index_.find(me_, key, show); }
    std::size_t find_batch(std::span<const Raw> keys, FunctionRef<void(std::size_t, ByteSpan)> show) override {
      return index_.find_batch(me_, keys, show);
    }
    bool insert(Raw key, ByteSpan value) override { return index_.insert(me_, key, value); }
    bool insert(Raw key, ByteSpan value, Show before) override { return index_.insert(me_, key, value, before); }
    bool upsert(Raw key, ByteSpan value, Show before) override { return index_.upsert(me_, key, value, before); }
    bool update(Raw key, ByteSpan value, Show before) override { return index_.update(me_, key, value, before); }
    bool erase(Raw key, Show before) override { return index_.erase(me_, key, before); }
    Effect modify(Raw key, FunctionRef<Change(std::optional<ByteSpan>)> wish) override {
      return index_.modify(me_, key, wish);
    }
    void insert_batch(std::span<const Raw> keys, std::span<const ByteSpan> values, std::span<bool> done) override {
      index_.insert_batch(me_, keys, values, done);
    }
    void upsert_batch(std::span<const Raw> keys, std::span<const ByteSpan> values, std::span<bool> done) override {
      index_.upsert_batch(me_, keys, values, done);
    }
    void erase_batch(std::span<const Raw> keys, std::span<bool> done) override { index_.erase_batch(me_, keys, done); }
    void modify_batch(std::span<const Raw> keys, std::span<Effect> effects,
                      FunctionRef<Change(std::size_t, std::optional<ByteSpan>)> wish) override {
      index_.modify_batch(me_, keys, effects, wish);
    }
    vectors::Status update_vector(Raw key, const vectors::Update& update, Show before, Show after) override {
      return sized::update_vector(index_, me_, key, update, before, after);
    }
    void for_each(FunctionRef<void(Raw, ByteSpan)> show) override { index_.for_each(me_, show); }
    std::size_t scan([[maybe_unused]] Raw from, [[maybe_unused]] std::size_t limit,
                     [[maybe_unused]] FunctionRef<void(Raw, ByteSpan)> show) override {
      if constexpr (Map::kOrdered) return index_.scan(me_, from, limit, show);
      return 0;
    }
    std::function<ByteSpan()> pin(Raw key) override {
      auto pinned = index_.pin(me_, key);
      if (!pinned) return {};
      return [shared = std::make_shared<Pinned<typename Map::Machine>>(*std::move(pinned))] { return shared->bytes(); };
    }
    void idle() override { index_.idle(me_); }

   private:
    Sized<Map>& index_;
    typename Sized<Map>::ThreadState me_;
  };

  Sized<Map> index_;
};

}  // namespace latchlab
