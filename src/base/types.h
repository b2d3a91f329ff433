#pragma once
// The integer names and memory orders that every file uses.
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace latchlab {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

inline constexpr std::memory_order kRelaxed = std::memory_order_relaxed;
inline constexpr std::memory_order kAcquire = std::memory_order_acquire;
inline constexpr std::memory_order kRelease = std::memory_order_release;
inline constexpr std::memory_order kAcqRel = std::memory_order_acq_rel;
inline constexpr std::memory_order kSeqCst = std::memory_order_seq_cst;

/// The distance in bytes at which two threads write without false sharing: a pair of 64-byte lines, because the
/// adjacent-line prefetcher fetches them together.
inline constexpr std::size_t kFalseSharingBytes = 128;
inline constexpr std::size_t kLineBytes = 64;

}  // namespace latchlab
