// The only calls of the RTM instructions and of those that suspend the tracking of a transaction's loads (TSXLDTRK).
//
// XBEGIN, XEND, XABORT and XTEST raise #UD (SIGILL) on a processor without RTM, and CPUID lies about it in both
// directions. So nothing here may run before the probe of features.h has found that transactions work. The answer is
// one byte, constant-initialised to "unknown" and written once by the probe. rtm_works() reads it and runs the probe
// the first time.
//
// Everything is compiled with -mrtm and -mtsxldtrk; the wrappers are always inlined, so that a transaction contains no
// call through the PLT.
#pragma once

#include <immintrin.h>

#include <atomic>

#include "src/arch/rtm_status.h"
#include "src/base/types.h"

#if !defined(__RTM__) || !defined(__TSXLDTRK__) || !defined(__GCC_HAVE_SYNC_COMPARE_AND_SWAP_16) || \
    !defined(__SSE4_2__) || !defined(__POPCNT__)
#error "compile with -mrtm -mtsxldtrk -mcx16 -msse4.2 -mpopcnt, which CMake's target latchlab::latchlab carries"
#endif

namespace latchlab {

namespace rtm_detail {
enum class Usable : u8 { kUnknown, kNo, kYes };
inline constinit std::atomic<Usable> usable{Usable::kUnknown};
bool probe_usable();  // features.cc: runs the probe once and stores its answer in `usable`
}  // namespace rtm_detail

/// Returns true if this process may run hardware transactions: the probe found that they work, and this is no sanitizer
/// build (why_no_rtm in features.h). Thread-safe. The first call runs the probe (milliseconds, see features.h); every
/// later call is a load and a compare.
[[gnu::always_inline]] inline bool rtm_works() {
  // Relaxed: the byte is the whole message.
  const auto known = rtm_detail::usable.load(kRelaxed);
  if (known == rtm_detail::Usable::kUnknown) [[unlikely]]
    return rtm_detail::probe_usable();
  return known == rtm_detail::Usable::kYes;
}

/// Returns true if the calling thread is inside a hardware transaction. Call it only after rtm_works() was true.
[[gnu::always_inline]] inline bool rtm_test() { return _xtest() != 0; }

/// Starts a transaction and returns kCommitted. After an abort, execution comes back here with every register and every
/// store of the transaction undone, and the status of the abort is returned. Call it only after rtm_works() was true.
[[gnu::always_inline]] inline u32 rtm_begin() { return _xbegin(); }

/// Commits the innermost transaction. Faults outside a transaction.
[[gnu::always_inline]] inline void rtm_end() { _xend(); }

/// Aborts the transaction with explicit_status(kCode).
template <u8 kCode>
[[noreturn, gnu::always_inline]] inline void rtm_abort() {
  _xabort(kCode);
  __builtin_unreachable();
}

/// Suspends the tracking of the transaction's loads: they neither conflict with other threads' stores nor take
/// capacity. Stores are tracked as before. Between suspend and resume, a begin, an end or another suspend aborts the
/// transaction; so does a resume without a suspend. Outside a transaction both calls do nothing. Call it only after
/// why_no_suspended_loads() (features.h) returned nothing.
[[gnu::always_inline]] inline void rtm_suspend_loads() { _xsusldtrk(); }

/// Tracks the loads that follow again; the loads since the suspend stay untracked.
[[gnu::always_inline]] inline void rtm_resume_loads() { _xresldtrk(); }

static_assert(kCommitted == _XBEGIN_STARTED);
static_assert(kAbortExplicit == _XABORT_EXPLICIT && kAbortRetry == _XABORT_RETRY);
static_assert(kAbortConflict == _XABORT_CONFLICT && kAbortCapacity == _XABORT_CAPACITY);
static_assert(kAbortDebug == _XABORT_DEBUG && kAbortNested == _XABORT_NESTED);

}  // namespace latchlab
