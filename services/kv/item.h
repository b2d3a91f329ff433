#pragma once

// An item of the store: what a client has stored under a key. It lies in one block of the values' memory
// (src/memory/values.h), so a hit of a short item reads one line after the bucket of its hash:
//
//     cas | expires | flags | generation | recent | key size, marks | key ... | value ...
//     0     8         16      20           24       28                32
//
// An item is replaced, never changed, but for `recent`: the time of the last access, and two bits that accesses set.
// These guard no other memory, so they need no order.

#include <atomic>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

#include "src/base/types.h"

namespace latchlab::kv {

/// What a client says about an item, and what the server adds. Times are in milliseconds since 1970.
struct ItemFields {
  u64 cas = 0;         ///< unique among the versions of all items
  i64 expires = 0;     ///< 0: never
  u32 flags = 0;       ///< the client's
  u32 generation = 0;  ///< of the store: an item of an older one has been flushed
  u32 recent = 0;      ///< Recent: seconds and two bits
  u16 key_bytes = 0;   ///< at most kMostItemKeyBytes; redis' keys may be empty
  bool stale = false;  ///< a client has asked to have it recached, and gets the old value meanwhile
};

inline constexpr std::size_t kMostItemKeyBytes = 0x7fff;

/// The bytes in front of the key.
inline constexpr std::size_t kItemHead = 32;

/// The parts of Item's `recent` word.
struct Recent {
  static constexpr u32 kFetched = u32{1} << 31;  ///< a client has got the item
  static constexpr u32 kWon = u32{1} << 30;      ///< a client has won the right to store it again
  static constexpr u32 kSeconds = kWon - 1;      ///< the second of the last access, of the server's clock
};

/// A view of an item, valid in the epoch in which it was found.
class Item {
 public:
  explicit Item(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] u64 cas() const { return read<u64>(0); }
  [[nodiscard]] i64 expires() const { return read<i64>(8); }
  [[nodiscard]] u32 flags() const { return read<u32>(16); }
  [[nodiscard]] u32 generation() const { return read<u32>(20); }
  [[nodiscard]] bool stale() const { return (read<u16>(28) & kStale) != 0; }
  [[nodiscard]] std::string_view key() const { return text().substr(kItemHead, key_bytes()); }
  [[nodiscard]] std::string_view value() const { return text().substr(kItemHead + key_bytes()); }
  /// Returns the bytes of the whole item.
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] ItemFields fields() const {
    return {.cas = cas(),
            .expires = expires(),
            .flags = flags(),
            .generation = generation(),
            .recent = recent(),
            .key_bytes = static_cast<u16>(key_bytes()),
            .stale = stale()};
  }

  [[nodiscard]] u32 recent() const { return recent_word().load(kRelaxed); }
  /// Notes an access in this second. Writes only if the word changes, so a popular item is written once a second. An
  /// access at the same moment as another change may go unnoticed.
  void access(u32 second) const {
    const auto word = recent_word();
    u32 now = word.load(kRelaxed);
    const u32 wanted = (now & Recent::kWon) | Recent::kFetched | (second & Recent::kSeconds);
    if (now != wanted) (void)word.compare_exchange_strong(now, wanted, kRelaxed);
  }
  /// Wins the right to store the item again. Returns true for the first caller.
  [[nodiscard]] bool win() const { return (recent_word().fetch_or(Recent::kWon, kRelaxed) & Recent::kWon) == 0; }

  /// Writes the head of an item to kItemHead bytes.
  static void write_head(std::byte* to, const ItemFields& fields) {
    std::memcpy(to, &fields.cas, 8);
    std::memcpy(to + 8, &fields.expires, 8);
    std::memcpy(to + 16, &fields.flags, 4);
    std::memcpy(to + 20, &fields.generation, 4);
    std::memcpy(to + 24, &fields.recent, 4);
    const u16 sized = static_cast<u16>(fields.key_bytes | (fields.stale ? kStale : 0));
    std::memcpy(to + 28, &sized, 2);
    std::memset(to + 30, 0, 2);
  }

 private:
  static constexpr u16 kStale = 0x8000;

  template <class T>
  [[nodiscard]] T read(std::size_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  [[nodiscard]] std::size_t key_bytes() const { return read<u16>(28) & kMostItemKeyBytes; }
  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  [[nodiscard]] std::atomic_ref<u32> recent_word() const {
    // A block's bytes begin 8 after its start, so the word is aligned.
    return std::atomic_ref(*reinterpret_cast<u32*>(const_cast<std::byte*>(bytes_.data()) + 24));
  }

  std::span<const std::byte> bytes_;
};

}  // namespace latchlab::kv
