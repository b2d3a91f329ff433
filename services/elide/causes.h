#pragma once
// The causes for which an elided lock's transaction aborts, as reports count them.
//
// A status of the processor belongs to exactly one cause (src/arch/rtm_status.h explains the bits). The library aborts
// by itself for the causes below, by codes of XABORT:
//
//     held      the lock was held when the transaction subscribed to it
//     nested    an inner lock was held, was locked twice, or was one too many
//     wait      a thread waits for a condition, which no transaction can do
//     trylock   a lock that this thread elides looks free, so a try could succeed that must fail
//     unlock    an unlock of a lock that this transaction has not locked
#include <array>
#include <cstddef>

#include "src/arch/rtm_status.h"
#include "src/base/words.h"

namespace latchlab::elide {

enum class Cause : u8 { kConflict, kCapacity, kHeld, kNested, kWait, kTrylock, kUnlock, kOther };
inline constexpr std::size_t kCauses = 8;

// The arguments of XABORT, beside kBusyCode, which says that the outermost lock was held.
inline constexpr u8 kInnerHeldCode = 0xc0;
inline constexpr u8 kAgainCode = 0xc1;    // this transaction has locked the lock already: a deadlock of the program
inline constexpr u8 kTooManyCode = 0xc2;  // more inner locks than ElidingThread notes
inline constexpr u8 kWaitCode = 0xc3;
inline constexpr u8 kTrylockCode = 0xc4;
inline constexpr u8 kUnlockCode = 0xc5;

/// Returns the cause of an abort status, which must not be kCommitted.
constexpr Cause cause_of(u32 status) {
  if (status & kAbortExplicit) {
    switch (explicit_code(status)) {
      case kBusyCode: return Cause::kHeld;
      case kInnerHeldCode:
      case kAgainCode:
      case kTooManyCode: return Cause::kNested;
      case kWaitCode: return Cause::kWait;
      case kTrylockCode: return Cause::kTrylock;
      case kUnlockCode: return Cause::kUnlock;
      default: return Cause::kOther;  // the program's own XABORT
    }
  }
  switch (classify(status)) {
    case AbortCause::kNested: return Cause::kNested;  // by transactions of the program's own
    case AbortCause::kCapacity: return Cause::kCapacity;
    case AbortCause::kConflict: return Cause::kConflict;
    default: return Cause::kOther;
  }
}

}  // namespace latchlab::elide

namespace latchlab {

template <>
inline constexpr std::array kWords<elide::Cause>{"conflict"sv, "capacity"sv, "held"sv,   "nested"sv,
                                                 "wait"sv,     "trylock"sv,  "unlock"sv, "other"sv};
static_assert(kWords<elide::Cause>.size() == elide::kCauses);

}  // namespace latchlab
