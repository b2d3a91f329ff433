#pragma once
// Any index behind one virtual call an operation: what a test suite that is compiled once speaks to. Never
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
[[nodiscard]] inline std::string number_key(u64 number) {
  std::string out(8, '\0');
  for (u32 i = 0; i < 8; ++i) out[i] = static_cast<char>(number >> (56 - 8 * i));
  return out;
}

/// The number that a key of eight bytes spells.
[[nodiscard]] inline u64 key_number(std::string_view key) {
  u64 out = 0;
  for (const char c : key) out = out << 8 | static_cast<u8>(c);
  return out;
}

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

template <SharedIndex Index>
class AnyIndexOf final : public AnyIndex {
  using Raw = typename Index::Raw;
  static constexpr bool kNumbers = std::is_same_v<Raw, u64>;

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
  [[nodiscard]] bool numbers() const override { return kNumbers; }
  [[nodiscard]] bool keeps() const override { return keeps_pairs<Index>(); }
  [[nodiscard]] Footprint bytes() const override { return index_.bytes(); }

 private:
  class SessionOf final : public AnyIndex::Session {
   public:
    explicit SessionOf(Index& index) : index_(index), me_(index.join()) {}

    std::optional<u64> find(std::string_view key) override { return index_.find(me_, raw(key)); }
    std::vector<std::optional<u64>> find_batch(const std::vector<std::string>& keys, BatchOrder order) override {
      std::vector<std::optional<u64>> found(keys.size(), ~u64{0});   // to be overwritten
      std::vector<Raw> raws;
      for (const std::string& key : keys) raws.push_back(raw(key));
      if constexpr (kFindsBatches<Index>) {
        index_.find_batch(me_, raws, found, order);
      } else {
        for (std::size_t i = 0; i < raws.size(); ++i) found[i] = index_.find(me_, raws[i]);
      }
      return found;
    }
    std::vector<bool> insert_batch(const std::vector<std::string>& keys, const std::vector<u64>& values,
                                   BatchOrder order) override {
      return changed(keys, [&](auto&& raws, auto done) {
        if constexpr (kChangesBatches<Index>) {
          index_.insert_batch(me_, raws, values, done, order);
        } else {
          for (std::size_t i = 0; i < raws.size(); ++i) done[i] = index_.insert(me_, raws[i], values[i]);
        }
      });
    }
    std::vector<bool> update_batch(const std::vector<std::string>& keys, const std::vector<u64>& values,
                                   BatchOrder order) override {
      return changed(keys, [&](auto&& raws, auto done) {
        if constexpr (kChangesBatches<Index>) {
          index_.update_batch(me_, raws, values, done, order);
        } else {
          for (std::size_t i = 0; i < raws.size(); ++i) done[i] = index_.update(me_, raws[i], values[i]);
        }
      });
    }
    std::vector<bool> erase_batch(const std::vector<std::string>& keys, BatchOrder order) override {
      return changed(keys, [&](auto&& raws, auto done) {
        if constexpr (kChangesBatches<Index>) {
          index_.erase_batch(me_, raws, done, order);
        } else {
          for (std::size_t i = 0; i < raws.size(); ++i) done[i] = index_.erase(me_, raws[i]);
        }
      });
    }
    bool insert(std::string_view key, u64 value) override { return index_.insert(me_, raw(key), value); }
    bool update(std::string_view key, u64 value) override { return index_.update(me_, raw(key), value); }
    bool upsert(std::string_view key, u64 value) override { return index_.upsert(me_, raw(key), value); }
    bool erase(std::string_view key) override { return index_.erase(me_, raw(key)); }

    std::size_t scan(std::string_view from, std::size_t limit, const Visit& visit) override {
      if constexpr (Index::kOrdered) {
        return index_.scan(me_, raw(from), limit, [&](Raw key, u64 value) { show(visit, key, value); });
      } else {
        return 0;
      }
    }
    void for_each(const Visit& visit) override {
      if constexpr (keeps_pairs<Index>()) {
        index_.for_each(me_, [&](Raw key, u64 value) { show(visit, key, value); });
      }
    }

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
    static Raw raw(std::string_view key) {
      if constexpr (kNumbers) {
        return key_number(key);
      } else {
        return key;
      }
    }
    /// What `change(raws, done)` leaves in `done`.
    template <class Change>
    static std::vector<bool> changed(const std::vector<std::string>& keys, const Change& change) {
      std::vector<Raw> raws;
      for (const std::string& key : keys) raws.push_back(raw(key));
      const auto done = std::make_unique<bool[]>(keys.size());
      change(raws, std::span(done.get(), keys.size()));
      return std::vector<bool>(done.get(), done.get() + keys.size());
    }
    static void show(const Visit& visit, Raw key, u64 value) {
      if constexpr (kNumbers) {
        visit(number_key(key), value);
      } else {
        visit(key, value);
      }
    }

    Index& index_;
    decltype(std::declval<Index&>().join()) me_;
  };

  Index index_;
};

}  // namespace latchlab
