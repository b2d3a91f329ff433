#include "src/history/recorder.h"

#include <utility>

namespace latchlab {

RecordedCalls HistoryRecorder::collect() {
  RecordedCalls out;
  const u64 cut = cut_.load(kRelaxed);  // relaxed: the threads are done
  if (cut != kNever) out.cut = cut;
  u64 used = 0;
  for (const Log& log : logs_) used += log.used;
  out.calls.reserve(used);
  for (u32 thread = 0; thread < logs_.size(); ++thread) {
    const std::vector<KeyedCall> slots = std::exchange(logs_[thread].slots, {});
    for (KeyedCall one : std::span(slots).first(std::exchange(logs_[thread].used, 0))) {
      Call& call = one.call;
      // The times may be equal to the cut: a call that found no room began then.
      if (call.called >= cut) continue;
      if (call.returned >= cut) call.returned = kNeverReturned;
      if (!call.has_returned()) {
        call.yes = false;
        call.was.reset();
        if (call.kind == CallKind::kFind) call.value = 0;
      }
      call.caller = thread;
      out.calls.push_back(one);
    }
  }
  return out;
}

}  // namespace latchlab
