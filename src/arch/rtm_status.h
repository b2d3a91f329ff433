// What a hardware transaction tells about its end.
//
// XBEGIN returns ~0 when the transaction has started; after an abort execution comes back to the same place
// with a status:
//
//     31      24 23          6   5      4      3        2        1     0
//    | code      | reserved   | nested debug capacity conflict retry explicit |
//
// The code is XABORT's argument and means something only beside the explicit bit. A status of zero has no bit
// to explain it: page fault, cleared Accessed bit, system call, PAUSE, interrupt. Here lie only numbers, so
// that the emulated and the simulated machines speak the same language as the processor; the instructions are
// in rtm.h.
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
inline constexpr u32 kAbortRetry = 2;     // the processor thinks that a retry may succeed
inline constexpr u32 kAbortConflict = 4;  // another thread touched a line of this transaction
inline constexpr u32 kAbortCapacity = 8;  // more lines than the caches can track
inline constexpr u32 kAbortDebug = 16;    // a breakpoint
inline constexpr u32 kAbortNested = 32;   // it happened in an inner transaction

/// The bits of all these together: there are so many different statuses but for the code.
inline constexpr u32 kAbortBits = 63;
inline constexpr std::array<std::string_view, 6> kAbortBitNames{"explicit", "retry", "conflict",
                                                                "capacity", "debug", "nested"};

/// The names of the bits of a status, from the lowest on, as in "retry+conflict"; "zero" if there are none.
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

/// The argument of XABORT; meaningful only when kAbortExplicit is set.
constexpr u8 explicit_code(u32 status) { return static_cast<u8>(status >> 24); }

/// The status that XABORT(code) produces in an outermost transaction.
constexpr u32 explicit_status(u8 code) { return u32{code} << 24 | kAbortExplicit; }

/// Every abort belongs to exactly one class, the first that matches in this order: our own reasons before the
/// processor's, and what explains most before what explains least.
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

/// The class of an abort status. Reserved bits are ignored. Must not be asked about kCommitted.
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
