#include "indexes/simdht/table.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#include "indexes/path_search.h"
#include "indexes/simdht/bucket.h"
#include "src/base/hash.h"

namespace latchlab::simdht {
namespace {

template <class KeyWord, class ValueWord, u32 kFunctions, u32 kSlots>
class TableOf final : public Table {
  using Bucket = BucketOf<KeyWord, ValueWord, kSlots>;
  using Hash = HashOf<KeyWord>;
  static constexpr u64 kFewest = 2;
  static constexpr u64 kFewestToReseed = 64;  // small tables fail by chance
  static constexpr u64 kMostReseeds = 8;      // keys that defeat so many functions may defeat any
  // Half of the numbers of a Hash, since a gather takes signed numbers.
  static constexpr u64 kMost =
      std::min<u64>(std::numeric_limits<Hash>::max() / 2 + u64{1}, ~u64{0} / 4 / sizeof(Bucket));

  struct Release {
    void operator()(Bucket* buckets) const { ::operator delete(buckets, std::align_val_t{kLineBytes}); }
  };

 public:
  explicit TableOf(u64 slots) {
    u64 buckets = kFewest;
    const u64 wanted = slots / kSlots + (slots % kSlots != 0);
    while (buckets < wanted && buckets <= kMost) buckets *= 2;  // become() refuses more than kMost
    become(buckets, 0);
  }

  bool put(u64 key64, u64 value64, Put how) override {
    const auto key = static_cast<KeyWord>(key64);
    const auto value = static_cast<ValueWord>(value64);
    if (ValueWord* const at = find(key)) {
      if (how != Put::kInsert) *at = value;
      return how == Put::kUpdate;
    }
    if (how == Put::kUpdate) return false;
    while (!place(key, value)) make_room();
    ++size_;
    return true;
  }

  bool erase(u64 key64) override {
    const auto key = static_cast<KeyWord>(key64);
    for (u32 function = 0; function < kFunctions; ++function) {
      const u64 b = number(key, function);
      if (KeyWord* const slot = slot_of(b, key)) {
        *slot = free_key(b);
        --size_;
        return true;
      }
    }
    return false;
  }

  void for_each(const std::function<void(u64 key, u64 value)>& visit) const override {
    for (u64 b = 0; b <= view_.mask; ++b) {
      for (u32 i = 0; i < kSlots; ++i) {
        const KeyWord key = buckets_.get()[b].key[i];
        if (key != free_key(b)) visit(key, buckets_.get()[b].value[i]);
      }
    }
  }

 private:
  u64 number(KeyWord key, u32 function) const {
    return bucket_number<Hash, Hash>(key, static_cast<Hash>(view_.seeds[function]), static_cast<Hash>(view_.mask));
  }
  KeyWord free_key(u64 b) const { return free_[b & 1]; }
  KeyWord* slot_of(u64 b, KeyWord key) {
    for (KeyWord& slot : buckets_.get()[b].key) {
      if (slot == key) return &slot;
    }
    return nullptr;
  }
  ValueWord* find(KeyWord key) {
    for (u32 function = 0; function < kFunctions; ++function) {
      const u64 b = number(key, function);
      if (const KeyWord* const slot = slot_of(b, key)) return &buckets_.get()[b].value[slot - buckets_.get()[b].key];
    }
    return nullptr;
  }
  void store(u64 b, const KeyWord* slot, KeyWord key, ValueWord value) {
    Bucket& bucket = buckets_.get()[b];
    const auto i = slot - bucket.key;
    bucket.key[i] = key;
    bucket.value[i] = value;
  }

  /// Inserts an absent key. Returns false if there is no path.
  bool place(KeyWord key, ValueWord value) {
    PathSearch<u32, kMostSpots> search;
    for (u32 function = 0; function < kFunctions; ++function) {
      const u64 b = number(key, function);
      if (const KeyWord* const slot = slot_of(b, free_key(b))) return store(b, slot, key, value), true;
      search.begin(b);
    }
    for (u32 at = 0; at < search.size(); ++at) {
      const Bucket& bucket = buckets_.get()[search.bucket(at)];
      for (u32 slot = 0; slot < kSlots && !search.full(); ++slot) {
        for (u32 function = 0; function < kFunctions && !search.full(); ++function) {
          const u64 other = number(bucket.key[slot], function);
          if (!search.come_to(other, slot, at)) continue;
          if (const KeyWord* room = slot_of(other, free_key(other))) {
            u64 to = other;
            search.for_each_move(search.size() - 1, [&](u64 from, u32 moved) {
              const Bucket& source = buckets_.get()[from];
              store(to, room, source.key[moved], source.value[moved]);
              to = from, room = &source.key[moved];
            });
            return store(to, room, key, value), true;
          }
        }
      }
    }
    return false;
  }

  /// Replaces the table by a copy with more buckets, or with other hash functions. Changes nothing if memory is out.
  void make_room() {
    const bool reseed = size_ < slots_ / 8 && slots_ >= kFewestToReseed * kSlots && reseeds_ < kMostReseeds;
    u64 buckets = reseed ? view_.mask + 1 : 2 * (view_.mask + 1);
    for (u64 seed = reseeds_ + reseed;; buckets *= 2) {
      TableOf other(buckets, seed);
      if (!other.take(*this)) continue;
      other.size_ = size_;
      *this = std::move(other);
      return;
    }
  }
  TableOf(u64 buckets, u64 seed) { become(buckets, seed); }
  bool take(const TableOf& from) {
    bool all = true;
    for (u64 b = 0; b <= from.view_.mask && all; ++b) {
      const Bucket& bucket = from.buckets_.get()[b];
      for (u32 i = 0; i < kSlots && all; ++i) {
        if (bucket.key[i] != from.free_key(b)) all = place(bucket.key[i], bucket.value[i]);
      }
    }
    return all;
  }

  /// Becomes an empty table.
  void become(u64 buckets, u64 seed) {
    if (buckets > kMost) throw std::bad_alloc();
    bytes_ = buckets * sizeof(Bucket);
    buckets_.reset(static_cast<Bucket*>(::operator new(bytes_, std::align_val_t{kLineBytes})));
    reseeds_ = seed;
    slots_ = buckets * kSlots;
    view_ = {.buckets = reinterpret_cast<const std::byte*>(buckets_.get()), .mask = buckets - 1};
    for (u32 function = 0; function < kFunctions; ++function)
      view_.seeds[function] = mix64(seed * kMostFunctions + function + 1);
    for (u32 lowest = 0; lowest < 2; ++lowest) free_[1 - lowest] = key_of_parity(lowest);
    for (u64 b = 0; b < buckets; ++b) {
      for (u32 i = 0; i < kSlots; ++i) new (&buckets_.get()[b].key[i]) KeyWord(free_key(b));
    }
  }
  /// Returns the least key with this lowest bit in all of its hashes.
  KeyWord key_of_parity(u32 lowest) const {
    for (KeyWord key = 0;; ++key) {
      u32 function = 0;
      while (function < kFunctions && (number(key, function) & 1) == lowest) ++function;
      if (function == kFunctions) return key;
    }
  }

  std::unique_ptr<Bucket, Release> buckets_;
  std::array<KeyWord, 2> free_{};  // the keys that mark free slots of even buckets, and of odd ones
};

template <std::size_t kNumber>
std::unique_ptr<Table> make(u64 slots) {
  constexpr Shape kShape = shape_at(kNumber);
  return std::make_unique<TableOf<WordOf<kShape.key_bits>, WordOf<kShape.value_bits>, kShape.functions, kShape.slots>>(
      slots);
}

}  // namespace

std::unique_ptr<Table> make_table(const Shape& shape, u64 slots) {
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    static constexpr std::unique_ptr<Table> (*kMake[])(u64) = {make<i>...};
    return kMake[number_of(shape)](slots);
  }(std::make_index_sequence<kGrid>());
}

}  // namespace latchlab::simdht
