#pragma once
// The keys of an attempt of Synchronized, spelled before it begins, to keep that work out of a transaction.
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

#include "src/base/batching.h"

namespace latchlab {

/// Up to kMostInAttempt keys.
template <class Key>
class Spelled {
  using Raw = typename Key::Raw;

 public:
  explicit Spelled(std::span<const Raw> raws) : count_(raws.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      if constexpr (kSpellsItself) {
        std::construct_at(at(i), typename Key::Spelling(raws[i]).key());
      } else {
        std::construct_at(at(i), spellings_[i].emplace(raws[i]).key());
      }
    }
  }
  Spelled(const Spelled&) = delete;  // keys may view the spellings
  Spelled& operator=(const Spelled&) = delete;

  std::span<const Key> keys() const { return {reinterpret_cast<const Key*>(room_), count_}; }

 private:
  static constexpr bool kSpellsItself = Key::kFixedSize != 0;  // such a key does not view its spelling
  static_assert(std::is_trivially_destructible_v<Key>);
  Key* at(std::size_t i) { return reinterpret_cast<Key*>(room_) + i; }

  const std::size_t count_;
  std::array<std::optional<typename Key::Spelling>, kSpellsItself ? 0 : kMostInAttempt> spellings_;
  alignas(Key) std::byte room_[kMostInAttempt * sizeof(Key)];  // an array of keys would initialize all of them
};

}  // namespace latchlab
