#pragma once
// Any index behind virtual calls: what a test suite that is compiled once speaks to. Never
// measured.
//
// Keys are byte strings. An index of integers takes them as eight bytes, most significant first, so that the
// order of the strings is the order of the numbers, and an oracle is a std::map<std::string, u64> for every
// index.
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "indexes/concepts.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "src/memory/memory_config.h"
#include "src/stats/counters.h"

namespace latchlab {

/// A number as a key of AnyIndex.
[[nodiscard]] std::string number_key(u64 number);

/// The number that a key of eight bytes spells.
[[nodiscard]] u64 key_number(std::string_view key);

/// Whether an index keeps what it is given; all do, but for `null`.
template <SharedIndex Index>
[[nodiscard]] constexpr bool keeps_pairs() {
  if constexpr (requires { Index::Body::kKeeps; }) return Index::Body::kKeeps;
  return true;
}

class AnyIndex {
 public:
  /// Called for each pair; the key is valid during the call only.
  using Visit = std::function<void(std::string_view key, u64 value)>;

  /// One thread's access: made, used and destroyed by that thread, before the index is.
  class Session {
   public:
    Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    virtual ~Session() = default;

    virtual std::optional<u64> find(std::string_view key) = 0;
    /// What find says of each key; by a batch where the index takes any.
    virtual std::vector<std::optional<u64>> find_batch(const std::vector<std::string>& keys, BatchOrder order) = 0;
    /// What insert, update or erase says of each key; by a batch where the index takes any.
    virtual std::vector<bool> insert_batch(const std::vector<std::string>& keys, const std::vector<u64>& values,
                                           BatchOrder order) = 0;
    virtual std::vector<bool> update_batch(const std::vector<std::string>& keys, const std::vector<u64>& values,
                                           BatchOrder order) = 0;
    virtual std::vector<bool> erase_batch(const std::vector<std::string>& keys, BatchOrder order) = 0;
    virtual bool insert(std::string_view key, u64 value) = 0;  ///< true if it was absent
    virtual bool update(std::string_view key, u64 value) = 0;  ///< true if it was there
    virtual bool upsert(std::string_view key, u64 value) = 0;  ///< true if it was absent
    virtual bool erase(std::string_view key) = 0;              ///< true if it was there

    /// Up to `limit` pairs from `from` on, in order; returns how many. Only where ordered().
    virtual std::size_t scan(std::string_view from, std::size_t limit, const Visit& visit) = 0;

    /// Every pair, in order where there is one, while nobody else uses the index.
    virtual void for_each(const Visit& visit) = 0;

    /// The policy's counters of this session, by name.
    [[nodiscard]] virtual std::vector<std::pair<std::string, u64>> counters() const = 0;

    /// Which of them cannot all be right, in one line; empty if they can.
    [[nodiscard]] virtual std::string inconsistency() const = 0;
  };

  AnyIndex() = default;
  AnyIndex(const AnyIndex&) = delete;
  AnyIndex& operator=(const AnyIndex&) = delete;
  virtual ~AnyIndex() = default;

  [[nodiscard]] virtual std::unique_ptr<Session> join() = 0;
  [[nodiscard]] virtual bool ordered() const = 0;
  /// Whether keys are numbers, and so eight bytes each.
  [[nodiscard]] virtual bool numbers() const = 0;
  /// False for an index that keeps nothing: there is nothing to conform to.
  [[nodiscard]] virtual bool keeps() const = 0;
  [[nodiscard]] virtual Footprint bytes() const = 0;
};

/// What the sessions of all indexes of numbers have in common, and those of all of strings: keys become what the index takes, and
/// back. Compiled once for each of the two.
template <class Raw>
class KeyedSession : public AnyIndex::Session {
 public:
  std::optional<u64> find(std::string_view key) final;
  std::vector<std::optional<u64>> find_batch(const std::vector<std::string>& keys, BatchOrder order) final;
  std::vector<bool> insert_batch(const std::vector<std::string>& keys, const std::vector<u64>& values, BatchOrder order) final;
  std::vector<bool> update_batch(const std::vector<std::string>& keys, const std::vector<u64>& values, BatchOrder order) final;
  std::vector<bool> erase_batch(const std::vector<std::string>& keys, BatchOrder order) final;
  bool insert(std::string_view key, u64 value) final;
  bool update(std::string_view key, u64 value) final;
  bool upsert(std::string_view key, u64 value) final;
  bool erase(std::string_view key) final;
  std::size_t scan(std::string_view from, std::size_t limit, const AnyIndex::Visit& visit) final;
  void for_each(const AnyIndex::Visit& visit) final;

 protected:
  using Keys = std::span<const Raw>;
  using Values = std::span<const u64>;
  using VisitRaw = std::function<void(Raw key, u64 value)>;

  virtual std::optional<u64> find_raw(Raw key) = 0;
  virtual void find_raws(Keys keys, std::span<std::optional<u64>> found, BatchOrder order) = 0;
  virtual void insert_raws(Keys keys, Values values, std::span<bool> inserted, BatchOrder order) = 0;
  virtual void update_raws(Keys keys, Values values, std::span<bool> updated, BatchOrder order) = 0;
  virtual void erase_raws(Keys keys, std::span<bool> erased, BatchOrder order) = 0;
  virtual bool insert_raw(Raw key, u64 value) = 0;
  virtual bool update_raw(Raw key, u64 value) = 0;
  virtual bool upsert_raw(Raw key, u64 value) = 0;
  virtual bool erase_raw(Raw key) = 0;
  virtual std::size_t scan_raws(Raw from, std::size_t limit, const VisitRaw& visit) = 0;
  virtual void for_each_raw(const VisitRaw& visit) = 0;
};
extern template class KeyedSession<u64>;
extern template class KeyedSession<std::string_view>;

template <SharedIndex Index>
class AnyIndexOf final : public AnyIndex {
  using Raw = typename Index::Raw;

 public:
  AnyIndexOf(const Spec& sync, const MemoryConfig& memory) : index_(sync, memory) {}
  /// With the options of `index`, where it has any.
  AnyIndexOf(const Spec& sync, const MemoryConfig& memory, const Spec& index)
      : index_([&] {
          if constexpr (std::constructible_from<Index, const Spec&, const MemoryConfig&, const Spec&>) {
            return Index(sync, memory, index);
          } else {
            return Index(sync, memory);
          }
        }()) {}

  [[nodiscard]] std::unique_ptr<AnyIndex::Session> join() override {
    return std::make_unique<SessionOf>(index_);
  }
  [[nodiscard]] bool ordered() const override { return Index::kOrdered; }
  [[nodiscard]] bool numbers() const override { return std::is_same_v<Raw, u64>; }
  [[nodiscard]] bool keeps() const override { return keeps_pairs<Index>(); }
  [[nodiscard]] Footprint bytes() const override { return index_.bytes(); }

 private:
  class SessionOf final : public KeyedSession<Raw> {
    using typename KeyedSession<Raw>::Keys, typename KeyedSession<Raw>::Values, typename KeyedSession<Raw>::VisitRaw;

   public:
    explicit SessionOf(Index& index) : index_(index), me_(index.join()) {}

    [[nodiscard]] std::vector<std::pair<std::string, u64>> counters() const override {
      std::vector<std::pair<std::string, u64>> out;
      if constexpr (requires { me_.counters; }) {
        for_each_counter(me_.counters,
                         [&](std::string_view name, u64 value) { out.emplace_back(name, value); });
      }
      return out;
    }
    [[nodiscard]] std::string inconsistency() const override {
      if constexpr (requires { me_.counters.inconsistency(); }) return me_.counters.inconsistency();
      return {};
    }

   private:
    std::optional<u64> find_raw(Raw key) override { return index_.find(me_, key); }
    void find_raws(Keys keys, std::span<std::optional<u64>> found, BatchOrder order) override {
      if constexpr (kFindsBatches<Index>) {
        index_.find_batch(me_, keys, found, order);
      } else {
        for (std::size_t i = 0; i < keys.size(); ++i) found[i] = index_.find(me_, keys[i]);
      }
    }
    void insert_raws(Keys keys, Values values, std::span<bool> inserted, BatchOrder order) override {
      if constexpr (kChangesBatches<Index>) {
        index_.insert_batch(me_, keys, values, inserted, order);
      } else {
        for (std::size_t i = 0; i < keys.size(); ++i) inserted[i] = index_.insert(me_, keys[i], values[i]);
      }
    }
    void update_raws(Keys keys, Values values, std::span<bool> updated, BatchOrder order) override {
      if constexpr (kChangesBatches<Index>) {
        index_.update_batch(me_, keys, values, updated, order);
      } else {
        for (std::size_t i = 0; i < keys.size(); ++i) updated[i] = index_.update(me_, keys[i], values[i]);
      }
    }
    void erase_raws(Keys keys, std::span<bool> erased, BatchOrder order) override {
      if constexpr (kChangesBatches<Index>) {
        index_.erase_batch(me_, keys, erased, order);
      } else {
        for (std::size_t i = 0; i < keys.size(); ++i) erased[i] = index_.erase(me_, keys[i]);
      }
    }
    bool insert_raw(Raw key, u64 value) override { return index_.insert(me_, key, value); }
    bool update_raw(Raw key, u64 value) override { return index_.update(me_, key, value); }
    bool upsert_raw(Raw key, u64 value) override { return index_.upsert(me_, key, value); }
    bool erase_raw(Raw key) override { return index_.erase(me_, key); }
    std::size_t scan_raws(Raw from, std::size_t limit, const VisitRaw& visit) override {
      if constexpr (Index::kOrdered) {
        return index_.scan(me_, from, limit, visit);
      } else {
        return 0;
      }
    }
    void for_each_raw(const VisitRaw& visit) override {
      if constexpr (keeps_pairs<Index>()) index_.for_each(me_, visit);
    }

    Index& index_;
    decltype(std::declval<Index&>().join()) me_;
  };

  Index index_;
};

}  // namespace latchlab
