#include "harness/trial/recorded_run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "src/arch/time_fences.h"

namespace latchlab {
namespace {

u64 key_in_history(const Request& request, bool numbers) {
  return numbers ? history_key(request.number) : history_key(std::string_view(request.bytes, request.length));
}

/// Returns the time at which a call begins that follows.
u64 time_before(Clock& clock) {
  const u64 now = clock.now();
  start_after_reading();
  return now;
}
/// Returns the time at which the call ahead has ended.
u64 time_after(Clock& clock) {
  settle_before_reading();
  return clock.now();
}

}  // namespace

RecordedRun::RecordedRun(HistoryRecorder& recorder, KeyShare keys, u32 thread, Clock& clock, bool numbers,
                         u32 value_bits)
    : recorder_(recorder), keys_(keys), thread_(thread), clock_(clock), account_(numbers, value_bits) {
  recorder_.make_room(thread);
}

u32 RecordedRun::run(Runner& runner, const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
                     Latencies* latencies) {
  if (slice.marks == nullptr) return runner.run(slice, stop, tally, stop_requests, latencies);
  u32 done = 0;
  while (true) {
    const void* const mark = recorder_.goes_on() ? std::memchr(slice.marks + done, 1, slice.count - done) : nullptr;
    const u32 next = mark == nullptr ? slice.count : static_cast<u32>(static_cast<const u8*>(mark) - slice.marks);
    Slice piece = slice;
    piece.requests += done;
    piece.count = next - done;
    piece.further += slice.count - next;
    // An empty piece counts as well: the index may do something between pieces.
    done += runner.run(piece, stop, tally, stop_requests, latencies);
    if (done < next || done == slice.count || stop.load(kRelaxed)) return done;
    if (preemption_) preemption_->arm();
    run_marked(runner, slice, slice.requests[done], tally);
    if (latencies != nullptr && latencies->untimed() != 0) latencies->skip(1);
    if (++done == slice.count) return done;
  }
}

/// Runs one request and counts it as the hot loop does (runner_of.h).
void RecordedRun::run_marked(Runner& runner, const Slice& slice, const Request& request, Tally& tally) {
  switch (request.kind) {
    case OpKind::kRead: return account_.note(request.kind, find(runner, request, tally), tally);
    case OpKind::kInsert: return account_.note_change(request.kind, request, put(runner, Put::kInsert, request), tally);
    case OpKind::kUpdate: return account_.note_change(request.kind, request, put(runner, Put::kUpdate, request), tally);
    case OpKind::kUpsert: return account_.note_change(request.kind, request, put(runner, Put::kUpsert, request), tally);
    case OpKind::kErase: return account_.note_change(request.kind, request, erase(runner, request), tally);
    case OpKind::kModify: return account_.note(request.kind, modify(runner, request, tally), tally);
    case OpKind::kIncrement: return account_.note(request.kind, increment(runner, request, tally), tally);
    case OpKind::kMultiGet:
      return account_.note(request.kind, multi_get(runner, {slice.gets + request.number, request.limit}, tally), tally);
    case OpKind::kRmw: {
      bool updated = false;
      if (find(runner, request, tally)) {
        updated = put(runner, Put::kUpdate, request);
        tally.missing += !updated && request.expect == Expect::kHit;
      }
      return account_.note(request.kind, updated, tally);
    }
    case OpKind::kScan: break;  // has no mark
  }
}

void RecordedRun::end_preempting() {
  if (!preemption_) return;
  preemptions_.all = preemption_->count();
  preemption_.reset();
}

RecordedRun::UnderWay RecordedRun::begin(CallKind kind, const Request& request) {
  const u64 before = interrupted();
  const u64 called = time_before(clock_);
  const UnderWay call{recorder_.take(thread_, 1, called), before};
  for (KeyedCall& one : call.slot) {
    one = {history_key_of(request),
           {.kind = kind,
            .yes = false,
            .value = kind == CallKind::kErase || kind == CallKind::kFind ? 0 : request.value,
            .called = called,
            .returned = kNeverReturned}};
  }
  return call;
}

/// Ends a call: answer(call) writes its answer into the record.
void RecordedRun::end(const UnderWay& call, const auto& answer) {
  if (call.slot.empty()) return;
  const u64 returned = time_after(clock_);
  preemptions_.inside += interrupted() - call.interrupted;
  for (KeyedCall& one : call.slot) {
    answer(one.call);
    one.call.returned = returned;
  }
}

bool RecordedRun::find(Runner& runner, const Request& request, Tally& tally) {
  const ErasedKey key = account_.key_of(request);
  Found found;
  const UnderWay call = begin(CallKind::kFind, request);
  runner.find({&key, 1}, {&found, 1}, BatchOrder::kInTurn);
  end(call, [&](Call& record) { record.yes = found.has_value(), record.value = found.value_or(0); });
  return account_.found_right(request, found, tally);
}

bool RecordedRun::put(Runner& runner, Put how, const Request& request) {
  constexpr std::array kKinds{std::pair{Put::kInsert, CallKind::kInsert}, std::pair{Put::kUpdate, CallKind::kUpdate},
                              std::pair{Put::kUpsert, CallKind::kUpsert}};
  const ErasedKey key = account_.key_of(request);
  const UnderWay call = begin(std::ranges::find(kKinds, how, &std::pair<Put, CallKind>::first)->second, request);
  const Removed answer = runner.replace(how, key, request.value);
  end(call, [&](Call& record) { record.yes = answer.done, record.was = answer.was; });
  return answer.done;
}

bool RecordedRun::erase(Runner& runner, const Request& request) {
  const ErasedKey key = account_.key_of(request);
  const UnderWay call = begin(CallKind::kErase, request);
  const Removed answer = runner.remove(key);
  end(call, [&](Call& record) { record.yes = answer.done, record.was = answer.was; });
  return answer.done;
}

bool RecordedRun::modify(Runner& runner, const Request& request, Tally& tally) {
  // The same change as that of the hot loop.
  const Erased::Change change = [&request](const Found& before) { return before ? Found(request.value) : before; };
  const ErasedKey key = account_.key_of(request);
  const UnderWay call = begin(CallKind::kUpdate, request);
  return end_modify(call, request, runner.modify(key, change), tally);
}

bool RecordedRun::increment(Runner& runner, const Request& request, Tally& tally) {
  const Erased::Change change = [bits = account_.value_bits()](const Found& before) {
    return before ? Found(incremented(*before, bits)) : before;
  };
  const ErasedKey key = account_.key_of(request);
  const UnderWay call = begin(CallKind::kUpdate, request);
  return end_modify(call, request, runner.increment(key, change), tally);
}

bool RecordedRun::end_modify(const UnderWay& call, const Request& request, const Modified& modified, Tally& tally) {
  end(call, [&](Call& record) {
    if (modified.before) {
      record.yes = true, record.was = modified.before, record.value = modified.after.value_or(0);
    } else {
      record.kind = CallKind::kFind, record.value = 0;
    }
  });
  return account_.found_right(request, modified.before, tally);
}

bool RecordedRun::multi_get(Runner& runner, std::span<const Request> requests, Tally& tally) {
  asked_.clear();
  u64 chosen = 0;
  for (const Request& request : requests) {
    asked_.push_back(account_.key_of(request));
    chosen += keys_.has(history_key_of(request));
  }
  answers_.assign(requests.size(), {});
  const u64 before = interrupted();
  const u64 called = time_before(clock_);
  const std::span<KeyedCall> slots = recorder_.take(thread_, chosen, called);
  for (KeyedCall& slot : slots) slot = {0, {CallKind::kFind, false, 0, called, kNeverReturned}};
  runner.find(asked_, answers_, BatchOrder::kSideBySide);
  const u64 returned = time_after(clock_);
  if (!slots.empty()) preemptions_.inside += interrupted() - before;
  u64 got = 0;
  for (std::size_t i = 0, slot = 0; i < requests.size(); ++i) {
    const Found& found = answers_[i];
    got += account_.found_right(requests[i], found, tally);
    const u64 key = history_key_of(requests[i]);
    if (slot == slots.size() || !keys_.has(key)) continue;
    slots[slot++] = {key, {CallKind::kFind, found.has_value(), found.value_or(0), called, returned}};
  }
  tally.gets += requests.size();
  tally.got += got;
  return got == requests.size();
}

u64 RecordedRun::history_key_of(const Request& request) const { return key_in_history(request, account_.numbers()); }

void mark_requests(std::span<const Request> requests, std::span<const Request> gets, KeyShare keys, bool numbers,
                   std::span<u8> marks) {
  const auto chosen = [&](const Request& request) { return keys.has(key_in_history(request, numbers)); };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Request& request = requests[i];
    switch (request.kind) {
      case OpKind::kScan: marks[i] = 0; break;
      case OpKind::kMultiGet:
        marks[i] = std::ranges::any_of(gets.subspan(request.number, request.limit), chosen) ? 1 : 0;
        break;
      default: marks[i] = chosen(request) ? 1 : 0;
    }
  }
}

void ClockRelay::run(u32 t) {
  for (u64 mine = t; mine < kHandOffs; mine += threads_) {
    u64 turn = turn_.load(kAcquire);  // (1) pairs with (2)
    for (; turn < mine; turn = turn_.load(kAcquire)) team_.wait_while(turn_, turn);
    if (turn != mine) return;  // another thread has ended the relay
    const u64 now = time_after(team_.clock());
    start_after_reading();
    if (mine == 0) first_ = last_ = now;
    if (now < last_) ++backwards_, back_ns_ = std::max(back_ns_, last_ - now);
    last_ = std::max(last_, now);
    ++done_;
    turn_.store(now - std::min(now, first_) > kLongestNs ? kHandOffs : mine + 1, kRelease);  // (2) pairs with (1)
  }
}

std::string ClockRelay::why_unordered() const {
  if (backwards_ == 0) return "";
  return fmt::format(
      "the clock of this machine is not ordered between processors: it went back by up to {} ns in {} of {} hand-offs",
      back_ns_, backwards_, done_);
}

}  // namespace latchlab
