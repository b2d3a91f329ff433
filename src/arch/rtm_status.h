// The status of a hardware transaction.
//
// XBEGIN returns ~0 when the transaction has started. After an abort, execution comes back to the same place with a
// status:
//
//     31      24 23          6   5      4      3        2        1     0
//    | code      | reserved   | nested debug capacity conflict retry explicit |
//
// The code is XABORT's argument and means something only beside the explicit bit. A status of zero explains nothing:
// page fault, cleared Accessed bit, system call, PAUSE, interrupt. This file holds only numbers, so that the emulated
// and the simulated machines report statuses as the processor does; the instructions are in rtm.h.
//
// Source: Intel SDM volume 1, chapter 16 ("Programming with Intel TSX").
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/base/words.h"

namespace latchlab {

/// The result of a transaction that committed: the value of _XBEGIN_STARTED, which no abort has.
inline constexpr u32 kCommitted = ~0u;

inline constexpr u32 kAbortExplicit = 1;  // XABORT; its argument is explicit_code(status)
inline constexpr u32 kAbortRetry = 2;     // the processor expects that a retry may succeed
inline constexpr u32 kAbortConflict = 4;  // another thread touched a line of this transaction
inline constexpr u32 kAbortCapacity = 8;  // more lines than the caches can track
inline constexpr u32 kAbortDebug = 16;    // a breakpoint
inline constexpr u32 kAbortNested = 32;   // the abort happened in an inner transaction

/// The mask of all these bits. It is also the greatest status without a code.
inline constexpr u32 kAbortBits = 63;
inline constexpr std::array<std::string_view, 6> kAbortBitNames{"explicit", "retry", "conflict",
                                                                "capacity", "debug", "nested"};

/// Returns the names of the bits of a status, lowest first, as in "retry+conflict"; "zero" if no bit is set.
inline std::string bits_of(u32 status) {
  std::string text;
  for (std::size_t bit = 0; bit < kAbortBitNames.size(); ++bit) {
    if ((status >> bit & 1) == 0) continue;
    if (!text.empty()) text += '+';
    text += kAbortBitNames[bit];
  }
  return text.empty() ? "zero" : text;
}

/// The two reasons for which Latchlab itself aborts.
inline constexpr u8 kBusyCode = 0xff;   // the fallback lock was held when the transaction subscribed to it
inline constexpr u8 kArenaCode = 0xee;  // the thread's pool ran dry; it can be filled only outside

/// Returns the argument of XABORT; meaningful only if kAbortExplicit is set.
constexpr u8 explicit_code(u32 status) { return static_cast<u8>(status >> 24); }

/// Returns the status that XABORT(code) produces in an outermost transaction.
constexpr u32 explicit_status(u8 code) { return u32{code} << 24 | kAbortExplicit; }

/// The class of an abort. Every abort belongs to exactly one: the first that matches in this order. Our own reasons
/// come before the processor's, and causes that explain more come before those that explain less.
enum class AbortCause : u8 {
  kLockBusy,
  kArena,
  kExplicitOther,
  kNested,
  kDebug,
  kCapacity,
  kConflict,
  kRetryOnly,
  kZero,
};

template <>
inline constexpr std::array kWords<AbortCause>{"lock_busy"sv, "arena"sv,    "explicit_other"sv, "nested"sv, "debug"sv,
                                               "capacity"sv,  "conflict"sv, "retry_only"sv,     "zero"sv};

/// Returns the class of an abort status, which must not be kCommitted. Ignores reserved bits.
constexpr AbortCause classify(u32 status) {
  if (status & kAbortExplicit) {
    switch (explicit_code(status)) {
      case kBusyCode: return AbortCause::kLockBusy;
      case kArenaCode: return AbortCause::kArena;
      default: return AbortCause::kExplicitOther;
    }
  }
  if (status & kAbortNested) return AbortCause::kNested;
  if (status & kAbortDebug) return AbortCause::kDebug;
  if (status & kAbortCapacity) return AbortCause::kCapacity;
  if (status & kAbortConflict) return AbortCause::kConflict;
  if (status & kAbortRetry) return AbortCause::kRetryOnly;
  return AbortCause::kZero;
}

}  // namespace latchlab
