#pragma once
// Values of 0 bytes to 16 MiB as words, which an index keeps in its cells like any other u64.
//
//     short, up to 7 bytes    byte 0: 2 * size + 1 | bytes 1 to 7: the value, then zeros
//     long                    bit 63: claimed | bit 62: far | address of a block, a multiple of 16
//                             | bits 1 to 3: its further lines to prefetch | 0
//
//     block                   | shape: u32 | state: u32 | the bytes of the value ...
//                             state: bit 31: used | bits 28 to 30: touches | the number of pins
//
// Equal short words are equal values. Equal long words are the same block. No word is 0. A word says how many lines its
// value takes, up to 8: so a reader of many values can prefetch whole ones, before it has seen any header.
//
// A value is replaced, never changed. Its block is complete before its word is published, and the publishing store
// orders the two. After that only `state` changes. A block that is no longer found goes to a reclaimer, so that readers
// may finish (Epochs with PinnedValues).
//
// A claimed word is another word for the value, which readers take like the first. What a claim means is the index's
// affair (indexes/sized_modify.h).
//
// A pin holds a block for longer than an epoch, across threads:
//   1. A pin begins inside the epoch in which the word was found. So the reclaimer asks for pins after it has begun.
//   2. The reclaimer asks after the grace period, when no new pin can begin. A block without pins goes.
//   3. The end of a pin releases, and the question acquires: the reads under the pin happen before the free (fence 1).
//
// A far value lies in the far pool of its pool (src/memory/pool.h), and its word says so. Its touches count how often
// it was read there, up to 7, for the rule that brings it near (indexes/sized_tiers.h).
//
// The used bit is the reference bit of a cache (indexes/sized_evict.h). It begins clear. It is in a word that a reader
// of the value reads anyway, and a reader writes it only if it is clear. A short value has no header, and is never
// used.
//
// Blocks are made outside attempts, never in one: an allocation may reach the kernel. An attempt that must build a
// value fills a blank, a block that was made before with its capacity. The shape then says how many bytes to free:
//
//     shape      bits 0 to 26: the size of the value
//                bits 27 to 31: 0 in a block of the exact size, c in a blank of 2^c bytes
#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "src/base/types.h"
#include "src/machine/machine.h"
#include "src/memory/pool.h"

namespace latchlab {

/// The bytes of a value, to read.
using ByteSpan = std::span<const std::byte>;

/// The memory of a long value.
enum class Tier : u8 { kNear, kFar };

template <class M>
class Values {
 public:
  static constexpr u64 kMostBytes = u64{16} << 20;  ///< the size of the longest value
  static constexpr u64 kMostShort = 7;              ///< the size of the longest value that stays in its word

  /// Returns the word of a value: `first`, then `second`. A short one lies in its word, a long one in the pool of the
  /// tier: `pool` itself, or its far pool. Returns nothing when that memory is out. Throws std::length_error
  /// if the value is longer than kMostBytes. O(size). Must not be called inside an attempt.
  [[nodiscard]] static std::optional<u64> make(Pool<M>& pool, Tier tier, ByteSpan first, ByteSpan second = {}) {
    return make(pool, tier, size_of(first, second), [&](std::span<std::byte> to) { join(to.data(), first, second); });
  }
  /// Does the same for a value of `size` bytes, which `fill(std::span<std::byte>)` writes. `fill` may throw.
  template <class Fill>
    requires std::invocable<const Fill&, std::span<std::byte>>
  [[nodiscard]] static std::optional<u64> make(Pool<M>& pool, Tier tier, u64 size, const Fill& fill) {
    if (size <= kMostShort) {
      u64 word = short_of(size);
      fill(std::span(bytes_in(word), size));
      return word;
    }
    if (size > kMostBytes) too_long();
    const u64 far = tier == Tier::kFar ? kFar : 0;
    Header* const header = allocate(pool, (kHeader + size) | far, static_cast<u32>(size));
    if (header == nullptr) return std::nullopt;
    try {
      M::touch(header, kHeader + size, Access::kWrite);
      fill(std::span(bytes_behind(header), size));
    } catch (...) {
      pool.free(header, (kHeader + size) | far);
      throw;
    }
    return word_of(header, kHeader + size) | far;
  }
  /// Do so for a value in near memory.
  [[nodiscard]] static std::optional<u64> make(Pool<M>& pool, ByteSpan first, ByteSpan second = {}) {
    return make(pool, Tier::kNear, first, second);
  }
  template <class Fill>
    requires std::invocable<const Fill&, std::span<std::byte>>
  [[nodiscard]] static std::optional<u64> make(Pool<M>& pool, u64 size, const Fill& fill) {
    return make(pool, Tier::kNear, size, fill);
  }

  /// Returns the word of a blank in this memory for values of up to `most` bytes; nothing when memory is out. Its block
  /// is a power of two, so it may hold a longer one. Must not be called inside an attempt.
  [[nodiscard]] static std::optional<u64> make_blank(Pool<M>& pool, Tier tier, u64 most) {
    if (most > kMostBytes) too_long();
    const u64 far = tier == Tier::kFar ? kFar : 0;
    const u32 power = static_cast<u32>(std::bit_width(kHeader + std::max(most, u64{8}) - 1));
    Header* const header = allocate(pool, (u64{1} << power) | far, power << kSizeBits);
    if (header == nullptr) return std::nullopt;
    M::touch(header, u64{1} << power, Access::kWrite);
    return word_of(header, u64{1} << power) | far;
  }
  /// Returns the word of the value `first`, then `second`: a short word, or `blank`, which it fills. Returns nothing if
  /// the blank is too small, or the value longer than kMostBytes. Neither allocates nor throws, so an attempt may call
  /// it. The blank is not published yet, and may be filled again.
  [[nodiscard]] static std::optional<u64> fill(u64 blank, ByteSpan first, ByteSpan second) noexcept {
    return fill(blank, size_of(first, second), [&](std::span<std::byte> to) { join(to.data(), first, second); });
  }
  /// Does the same for a value of `size` bytes, which `write(std::span<std::byte>)` writes. What `write` throws, fill
  /// throws; the blank may be filled again.
  template <class Write>
    requires std::invocable<const Write&, std::span<std::byte>>
  [[nodiscard]] static std::optional<u64> fill(u64 blank, u64 size, const Write& write) {
    if (size <= kMostShort) {
      u64 word = short_of(size);
      write(std::span(bytes_in(word), size));
      return word;
    }
    Header* const header = header_of(blank);
    if (size > kMostBytes || kHeader + size > allocated(header->shape)) return std::nullopt;
    header->shape = (header->shape & ~kSizeMask) | static_cast<u32>(size);
    write(std::span(bytes_behind(header), size));
    return blank;
  }

  /// Returns a claimed word for the value of `word`, which is not claimed. A long word keeps its block. A short value
  /// is copied to `blank`, so that no two claims are equal. An attempt may call it.
  [[nodiscard]] static u64 claim(u64 word, u64 blank) noexcept {
    if (is_short(word)) {
      const ByteSpan value = bytes_in_attempt(word);
      Header* const header = header_of(blank);
      header->shape = (header->shape & ~kSizeMask) | static_cast<u32>(value.size());
      join(bytes_behind(header), value, {});
      word = blank;
    }
    return word | kClaim;
  }
  static bool is_claimed(u64 word) { return !is_short(word) && (word & kClaim) != 0; }

  /// Returns true if the value is in the word itself. Such a word need not be freed or retired.
  static bool is_short(u64 word) { return word % 2 != 0; }
  /// Returns true if the value lies in a far pool.
  static bool is_far(u64 word) { return !is_short(word) && (word & kFar) != 0; }
  /// Returns the bytes of a value. Those of a short one lie in `word` itself. Those of a long one are readable until
  /// the caller leaves the epoch or ends its pin. O(1).
  [[nodiscard]] static ByteSpan bytes(const u64& word) {
    if (is_short(word)) return bytes_in_attempt(word);
    M::touch(header_of(word), kHeader, Access::kRead);
    const ByteSpan all = bytes_in_attempt(word);
    M::touch(all.data(), all.size(), Access::kRead);
    return all;
  }
  static ByteSpan bytes(u64&& word) = delete;  // the result may point into it
  /// Does the same without touching the bytes: on some machines that ends a transaction by an exception.
  [[nodiscard]] static ByteSpan bytes_in_attempt(const u64& word) noexcept {
    if (is_short(word)) return {reinterpret_cast<const std::byte*>(&word) + 1, (word & 0xff) / 2};
    Header* const header = header_of(word);
    return {bytes_behind(header), header->shape & kSizeMask};
  }
  static ByteSpan bytes_in_attempt(u64&& word) = delete;
  /// Returns the bytes of a value, to change them where they lie. The caller is alone with the value: no other thread
  /// may read it meanwhile. Those of a short one lie in `word` itself, which the caller then stores.
  [[nodiscard]] static std::span<std::byte> own_bytes(u64& word) noexcept {
    const u64 size = bytes_in_attempt(word).size();
    return {is_short(word) ? bytes_in(word) : bytes_behind(header_of(word)), size};
  }
  /// Prefetches a long value, or its first 8 lines.
  static void prefetch(u64 word) {
    if (is_short(word)) return;
    const std::byte* const start = reinterpret_cast<const std::byte*>(header_of(word));
    for (u64 line = 0, further = (word & kFurtherMask) / 2; line <= further; ++line)
      M::prefetch(start + line * kLineBytes, Access::kRead);
  }

  /// Returns the bytes of the block of a long value that is made of these arguments of make.
  [[nodiscard]] static u64 block_bytes(ByteSpan first, ByteSpan second = {}) {
    return kHeader + size_of(first, second);
  }
  template <class Fill>
  [[nodiscard]] static u64 block_bytes(u64 size, const Fill&) {
    return kHeader + size;
  }

  /// Returns how many lines a reader of a value of `size` bytes fetches beside its word.
  [[nodiscard]] static constexpr u64 lines(u64 size) { return size <= kMostShort ? 0 : lines_in(kHeader + size); }

  /// Returns the block of a long value, as a reclaimer takes it.
  [[nodiscard]] static Block block(u64 word) {
    Header* const header = header_of(word);
    return {header, allocated(header->shape) | (word & kFar)};
  }
  /// Frees a value that no other thread can find or has pinned, to any pool of its memory. Does nothing for a short
  /// one.
  static void free(Pool<M>& pool, u64 word) {
    if (is_short(word)) return;
    const Block freed = block(word);
    pool.free(freed.start, freed.bytes);
  }

  /// Begins a pin, inside the epoch in which the word was found. At most 2^28 - 1 pins may live at once. Does nothing
  /// for a short value.
  static void pin(u64 word) {
    // Relaxed: the epoch orders it before the reclaimer's question, because the thread is inside.
    if (!is_short(word)) header_of(word)->state.fetch_add(1, kRelaxed);
  }
  /// Ends a pin, on any thread and at any time.
  static void unpin(u64 word) {
    if (!is_short(word)) header_of(word)->state.fetch_add(~u32{0}, kRelease);  // fence 1: pairs with pinned
  }
  /// Returns true if a block of a value is pinned.
  [[nodiscard]] static bool pinned(const Block& block) {
    return (static_cast<const Header*>(block.start)->state.load(kAcquire) & kPins) != 0;  // fence 1: pairs with unpin
  }

  // The used bit is only a hint for a cache, so it needs no order. The caller is inside the epoch in which it found the
  // word. The exchanges continue the release of an unpin before them, as every read-modify-write does (fence 1).

  /// Marks the value as used. Writes only if it is not marked yet. Does nothing for a short value.
  static void mark_used(u64 word) { (void)change_used(word, kUsed); }
  /// Takes the mark away. Returns whether this call has taken it.
  static bool clear_used(u64 word) { return change_used(word, 0); }
  /// Returns true if the value is marked as used. An attempt may call it. On some machines that ends a transaction by
  /// an exception.
  [[nodiscard]] static bool is_used(u64 word) {
    return !is_short(word) && (header_of(word)->state.load(kRelaxed) & kUsed) != 0;
  }

  /// Counts a touch of a far value, and returns the number of touches, up to kMostTouches. Does nothing for others, and
  /// returns 0. The caller is inside the epoch in which it found the word.
  static u32 touch(u64 word) {
    if (!is_far(word)) return 0;
    auto& state = header_of(word)->state;
    for (u32 now = state.load(kRelaxed);;) {  // relaxed, as for the used bit
      const u32 before = now, touches = (now & kTouches) / kOneTouch;
      if (touches == kMostTouches) return touches;
      if (state.compare_exchange(now, before + kOneTouch, kRelaxed)) return touches + 1;
      if (now == before) return touches;  // the machine lets no access take place any more
    }
  }
  static constexpr u32 kMostTouches = 7;

 private:
  struct Header {
    explicit Header(u32 first_shape) : shape(first_shape) {}
    u32 shape;  // fixed before the word is published
    typename M::template Atomic<u32> state{0};
  };
  static constexpr u32 kUsed = u32{1} << 31;  // of a state, and the next three
  static constexpr u32 kOneTouch = u32{1} << 28, kTouches = kMostTouches * kOneTouch;
  static constexpr u32 kPins = kOneTouch - 1;
  static constexpr u64 kHeader = sizeof(Header);
  static constexpr u64 kFurtherMask = 7 << 1;  // of a long word, and the next
  static constexpr u64 kClaim = u64{1} << 63;  // no address of a program has this bit, nor the next
  static constexpr u64 kFar = kFarBlock;
  static constexpr u32 kSizeBits = 27;
  static constexpr u32 kSizeMask = (u32{1} << kSizeBits) - 1;
  static_assert(kHeader == 8, "a value of 8 bytes fits in the smallest block");
  static_assert(kMostBytes <= kSizeMask);
  static_assert(std::endian::native == std::endian::little, "the tag of a short word is its lowest byte");

  /// Changes the used bit of a long value to `wanted`. Returns whether it was another one.
  static bool change_used(u64 word, u32 wanted) {
    if (is_short(word)) return false;
    auto& state = header_of(word)->state;
    for (u32 now = state.load(kRelaxed); (now & kUsed) != wanted;) {
      const u32 before = now;
      if (state.compare_exchange(now, before ^ kUsed, kRelaxed)) return true;
      if (now == before) return false;  // the machine lets no access take place any more
    }
    return false;
  }

  static constexpr u64 lines_in(u64 bytes) { return (bytes + kLineBytes - 1) / kLineBytes; }
  static u64 size_of(ByteSpan first, ByteSpan second) { return first.size() + second.size(); }
  static void join(std::byte* to, ByteSpan first, ByteSpan second) {
    if (!first.empty()) std::memcpy(to, first.data(), first.size());
    if (!second.empty()) std::memcpy(to + first.size(), second.data(), second.size());
  }
  [[noreturn, gnu::noinline, gnu::cold]] static void too_long() {
    throw std::length_error("a value is longer than 16 MiB");
  }

  static u64 short_of(u64 size) { return 2 * size + 1; }
  static std::byte* bytes_in(u64& word) { return reinterpret_cast<std::byte*>(&word) + 1; }

  /// Returns the word of a block of `bytes` bytes.
  static u64 word_of(Header* header, u64 bytes) {
    const u64 into_line = reinterpret_cast<u64>(header) % kLineBytes;  // a block of malloc may begin anywhere
    return reinterpret_cast<u64>(header) | 2 * std::min(lines_in(into_line + bytes) - 1, kFurtherMask / 2);
  }
  static Header* header_of(u64 word) { return reinterpret_cast<Header*>(word & ~(kFurtherMask | kClaim | kFar)); }
  static std::byte* bytes_behind(Header* header) { return reinterpret_cast<std::byte*>(header) + kHeader; }
  static u64 allocated(u32 shape) {
    const u32 power = shape >> kSizeBits;
    return power == 0 ? kHeader + (shape & kSizeMask) : u64{1} << power;
  }
  static Header* allocate(Pool<M>& pool, u64 bytes, u32 shape) {
    void* const at = pool.allocate(bytes);
    return at == nullptr ? nullptr : new (at) Header(shape);
  }
};

/// The Holds of a reclaimer of values (src/reclaim/epochs.h).
template <class M>
struct PinnedValues {
  static bool held(const Block& block) { return Values<M>::pinned(block); }
};

/// A value that stays readable for as long as this handle lives, after it was replaced or erased too. Any thread may
/// use and end it. It must end before the memory of the values.
template <class M>
class Pinned {
 public:
  /// Pins the value. The caller is inside the epoch in which it found the word.
  explicit Pinned(u64 word) : word_(word) { Values<M>::pin(word_); }
  Pinned(Pinned&& other) noexcept : word_(std::exchange(other.word_, kNone)) {}
  Pinned& operator=(Pinned&& other) noexcept {
    if (this != &other) {
      Values<M>::unpin(word_);
      word_ = std::exchange(other.word_, kNone);
    }
    return *this;
  }
  ~Pinned() { Values<M>::unpin(word_); }

  /// Returns the bytes of the value: none after a move. A short value lies in this handle, so a move invalidates them.
  [[nodiscard]] ByteSpan bytes() const { return Values<M>::bytes(word_); }

 private:
  static constexpr u64 kNone = 1;  // the word of the empty value

  u64 word_;
};

}  // namespace latchlab
