#include "indexes/simdht/table.h"

#include <limits>
#include <new>
#include <utility>

#include "src/base/hash.h"

namespace latchlab::simdht {
namespace {

template <class KeyWord, class ValueWord, u32 kFunctions, u32 kSlots>
class TableOf final : public Table {
  using Bucket = BucketOf<KeyWord, ValueWord, kSlots>;
  static constexpr u64 kFewest = 2;
  // Half as many as a KeyWord can number: for a gather numbers have a sign.
  static constexpr u64 kMost = std::min<u64>(std::numeric_limits<KeyWord>::max() / 2 + u64{1}, ~u64{0} / 4 / sizeof(Bucket));

  struct Release {
    void operator()(Bucket* buckets) const { ::operator delete(buckets, std::align_val_t{kLineBytes}); }
  };

 public:
  explicit TableOf(u64 slots) {
    u64 buckets = kFewest;
    const u64 wanted = slots / kSlots + (slots % kSlots != 0);
    while (buckets < wanted && buckets <= kMost) buckets *= 2;   // beyond kMost it is refused
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
      const KeyWord b = number(key, function);
      if (KeyWord* const slot = slot_of(b, key)) {
        *slot = free_key(b);
        --size_;
        return true;
      }
    }
    return false;
  }

  void for_each(Visit visit, void* context) const override {
    for (u64 b = 0; b <= view_.mask; ++b) {
      for (u32 i = 0; i < kSlots; ++i) {
        const KeyWord key = buckets_.get()[b].key[i];
        if (key != free_key(b)) visit(context, key, buckets_.get()[b].value[i]);
      }
    }
  }

 private:
  KeyWord number(KeyWord key, u32 function) const {
    return bucket_number<KeyWord, KeyWord>(key, static_cast<KeyWord>(view_.seeds[function]), static_cast<KeyWord>(view_.mask));
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
      const KeyWord b = number(key, function);
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

  /// A bucket that the search has come to: the key of slot `slot` of the bucket of spot `from` would move here.
  struct Spot {
    u64 bucket;
    u32 from, slot;
  };

  /// Puts a key that is not there; false where there is no path.
  bool place(KeyWord key, ValueWord value) {
    std::array<Spot, kMostSpots> spots;
    u32 known = 0;
    for (u32 function = 0; function < kFunctions; ++function) {
      const u64 b = number(key, function);
      if (const KeyWord* const slot = slot_of(b, free_key(b))) return store(b, slot, key, value), true;
      spots[known++] = {b, kMostSpots, 0};
    }
    for (u32 at = 0; at < known; ++at) {
      const u64 b = spots[at].bucket;
      for (u32 slot = 0; slot < kSlots && known < kMostSpots; ++slot) {
        const KeyWord moved = buckets_.get()[b].key[slot];
        for (u32 function = 0; function < kFunctions && known < kMostSpots; ++function) {
          const u64 other = number(moved, function);
          if (is_on_way(spots, at, other)) continue;
          spots[known] = {other, at, slot};
          if (KeyWord* const room = slot_of(other, free_key(other))) {
            const auto& [bucket, first] = move(spots, known, room);
            return store(bucket, first, key, value), true;
          }
          ++known;
        }
      }
    }
    return false;
  }
  static bool is_on_way(const std::array<Spot, kMostSpots>& spots, u32 spot, u64 bucket) {
    for (; spot != kMostSpots; spot = spots[spot].from) {
      if (spots[spot].bucket == bucket) return true;
    }
    return false;
  }
  /// Moves the keys of the path, the last one first; the slot that is free then, and its bucket.
  std::pair<u64, KeyWord*> move(const std::array<Spot, kMostSpots>& spots, u32 last, KeyWord* room) {
    for (u32 at = last;; at = spots[at].from) {
      const Spot& spot = spots[at];
      if (spot.from == kMostSpots) return {spot.bucket, room};
      Bucket& source = buckets_.get()[spots[spot.from].bucket];
      store(spot.bucket, room, source.key[spot.slot], source.value[spot.slot]);
      room = &source.key[spot.slot];
    }
  }

  /// A copy with more buckets, or other functions; nothing has changed if memory is out.
  void make_room() {
    const bool odd_keys = size_ < slots_ / 8 && slots_ >= 64 * kSlots && reseeds_ < 8;
    u64 buckets = odd_keys ? view_.mask + 1 : 2 * (view_.mask + 1);
    for (u64 seed = reseeds_ + odd_keys;; buckets *= 2) {
      TableOf other(buckets, seed);
      if (!other.take(*this)) continue;
      other.size_ = size_;
      std::swap(buckets_, other.buckets_);
      free_ = other.free_;
      static_cast<Table&>(*this) = other;
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

  /// An empty table.
  void become(u64 buckets, u64 seed) {
    if (buckets > kMost) throw std::bad_alloc();
    bytes_ = buckets * sizeof(Bucket) + kSlackBytes;
    buckets_.reset(static_cast<Bucket*>(::operator new(bytes_, std::align_val_t{kLineBytes})));
    reseeds_ = seed;
    slots_ = buckets * kSlots;
    view_ = {.buckets = reinterpret_cast<const std::byte*>(buckets_.get()), .mask = buckets - 1};
    for (u32 function = 0; function < kFunctions; ++function) view_.seeds[function] = mix64(seed * kMostFunctions + function + 1);
    for (u32 lowest = 0; lowest < 2; ++lowest) free_[1 - lowest] = key_of_parity(lowest);
    for (u64 b = 0; b < buckets; ++b) {
      for (u32 i = 0; i < kSlots; ++i) new (&buckets_.get()[b].key[i]) KeyWord(free_key(b));
    }
  }
  /// The least key of which all hashes have this lowest bit.
  KeyWord key_of_parity(KeyWord lowest) const {
    for (KeyWord key = 0;; ++key) {
      u32 function = 0;
      while (function < kFunctions && (number(key, function) & 1) == lowest) ++function;
      if (function == kFunctions) return key;
    }
  }

  std::unique_ptr<Bucket, Release> buckets_;
  std::array<KeyWord, 2> free_{};   // of even buckets, and of odd ones
};

template <std::size_t kShape, std::size_t kWidth>
std::unique_ptr<Table> make(u64 slots) {
  using KeyWord = WordOf<kWidths[kWidth][0]>;
  using ValueWord = WordOf<kWidths[kWidth][1]>;
  return std::make_unique<TableOf<KeyWord, ValueWord, kShapes[kShape][0], kShapes[kShape][1]>>(slots);
}

}  // namespace

std::unique_ptr<Table> make_table(const Shape& shape, u64 slots) {
  std::unique_ptr<Table> out;
  const auto choose = [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((shape == shape_at(i) ? void(out = make<i / kWidths.size(), i % kWidths.size()>(slots)) : void()), ...);
  };
  choose(std::make_index_sequence<kShapes.size() * kWidths.size()>());
  return out;
}

}  // namespace latchlab::simdht
