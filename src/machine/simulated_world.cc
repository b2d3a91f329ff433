#include "src/machine/simulated_world.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>

#include "src/arch/sanitizer.h"

namespace latchlab {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

namespace {

// The size has room for Catch2's assertions and sanitized frames; untouched pages cost nothing.
constexpr std::size_t kStackBytes = std::size_t{256} << 10;
constexpr std::size_t kGuardBytes = 4096;

}  // namespace

World& World::get() {
  static World world;
  return world;
}

World::World() { instance_ = this; }

World::~World() {
  for (auto& fiber : fibers_) {
    if (fiber->context.sanitizer_fiber) sanitizer_destroy_fiber(fiber->context.sanitizer_fiber);
    munmap(static_cast<char*>(const_cast<void*>(fiber->context.stack)) - kGuardBytes, kStackBytes + kGuardBytes);
  }
  instance_ = nullptr;
}

void World::reset() {
  memory_.reset();
  outside_.transaction.reset();
  outside_failure_.clear();
}

// ---------------------------------------------------------------- fibers

void World::give_stack(Fiber& fiber) {
  Context& context = fiber.context;
  if (!context.stack) {
    void* p = mmap(nullptr, kStackBytes + kGuardBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    mprotect(p, kGuardBytes, PROT_NONE);
    context.stack = static_cast<char*>(p) + kGuardBytes;
    context.stack_bytes = kStackBytes;
  } else {
    unpoison_memory(context.stack, kStackBytes);  // an abandoned run has left frames there
    if (context.sanitizer_fiber) sanitizer_destroy_fiber(context.sanitizer_fiber);
  }
  context.sanitizer_fiber = sanitizer_create_fiber();
  context.fake_stack = nullptr;
  context.at =
      make_fcontext(static_cast<char*>(const_cast<void*>(context.stack)) + kStackBytes, kStackBytes, fiber_main);
}

void World::prepare(u32 id) {
  if (id == fibers_.size()) {
    fibers_.push_back(std::make_unique<Fiber>());
    fibers_.back()->id = id;
    give_stack(*fibers_.back());
  }
  Fiber& fiber = *fibers_[id];
  if (!fiber.resting) give_stack(fiber);
  fiber.resting = true;
  fiber.done = false;
  fiber.doomed = false;
  fiber.transaction.reset();
  fiber.lines_read.clear();
  fiber.lines_written.clear();
  fiber.plan = nullptr;
  fiber.waits_for = nullptr;
  fiber.context.exceptions = {};
  fiber.clock = costs_->start(id);
  set_key(id, fiber.clock << kIdBits | id);
}

World::Outcome World::run(u32 fibers, Costs& costs, u64 event_limit, const std::function<void(u32)>& body) {
  if (fibers > kMaxFibers)
    throw std::invalid_argument(std::to_string(fibers) + " fibers: a world has room for 64 at most");
  outcome_ = {};
  costs_ = &costs;
  body_ = &body;
  event_limit_ = event_limit;
  running_ = fibers;
  waiters_.clear();
  leaves_ = std::bit_ceil(fibers);
  keys_.assign(2 * leaves_, kNotRunnable);
  for (u32 i = 0; i < fibers; ++i) prepare(i);
  home_.sanitizer_fiber = sanitizer_current_fiber();
  dispatch();
  return outcome_;
}

void World::fiber_main(transfer_t from) {
  World& world = get_unchecked();
  world.landed(from);
  for (;;) {
    Fiber& fiber = *me;
    fiber.resting = false;
    try {
      (*world.body_)(fiber.id);
    } catch (const std::exception& e) {
      world.fail(std::string("an exception left the fiber: ") + e.what());
    } catch (...) {
      world.fail("an exception left the fiber");
    }
    fiber.resting = true;
    fiber.done = true;
    world.dispatch();  // returns in the next schedule
  }
}

void World::set_key(u32 fiber, u64 key) {
  u32 n = leaves_ + fiber;
  keys_[n] = key;
  for (n >>= 1; n > 0; n >>= 1) keys_[n] = std::min(keys_[2 * n], keys_[2 * n + 1]);
}

/// Switches to the earliest fiber, or home if no fiber can run.
void World::dispatch() {
  const u64 earliest = keys_[1];
  if (earliest == kNotRunnable) {
    std::string waiting;
    for (u32 i = 0; i < running_; ++i) {
      if (!fibers_[i]->done) waiting += (waiting.empty() ? "" : ", ") + std::to_string(i);
    }
    if (!waiting.empty()) outcome_.failure = "deadlock: fibers wait for ever: " + waiting;
    jump(home_, nullptr);
    return;
  }
  const u32 next = earliest & ((1u << kIdBits) - 1);
  set_key(next, kNotRunnable);
  Fiber& fiber = *fibers_[next];
  if (&fiber == me) return;
  ++outcome_.switches;
  jump(fiber.context, &fiber);
}

/// Switches to another stack. Never inlined: a jump may return in another thread, whose exception state has another
/// address.
[[gnu::noinline]] void World::jump(Context& to, Fiber* next) {
  auto* const state = reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
  Context& from = *on_;
  from.exceptions = *state;
  *state = to.exceptions;
  left_ = &from;
  on_ = &to;
  me = next;
  sanitizer_leave_stack(&from.fake_stack, to.stack, to.stack_bytes);
  sanitizer_switch_to_fiber(to.sanitizer_fiber);
  landed(jump_fcontext(to.at, nullptr));
}

void World::landed(transfer_t from) {
  left_->at = from.fctx;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  sanitizer_enter_stack(on_->fake_stack, &bottom, &bytes);
  if (left_ == &home_) {
    home_.stack = bottom;
    home_.stack_bytes = bytes;
  }
}

void World::fail(const std::string& what) {
  if (!me) {
    if (outside_failure_.empty()) outside_failure_ = what + " (outside virtual time)";
    return;
  }
  outcome_.failure = what + " (fiber " + std::to_string(me->id) + ", event " + std::to_string(outcome_.events) +
                     ", at " + std::to_string(me->clock) + " ns)";
  jump(home_, nullptr);
}

std::string World::recent_events() const {
  static constexpr std::array kNames{"load", "store", "change", "begin", "commit", "abort", "memory", "pause", "yield"};
  std::string text;
  const u64 last = std::min(outcome_.events, event_limit_);
  for (u64 i = last > kRecent ? last - kRecent + 1 : 1; i <= last; ++i) {
    const Recent& recent = recent_[i % kRecent];
    text += "  event " + std::to_string(i) + " at " + std::to_string(recent.clock) + " ns: fiber " +
            std::to_string(recent.fiber) + (recent.in_transaction ? " (in a transaction) " : " ") +
            kNames[static_cast<std::size_t>(recent.event)];
    if (recent.at) text += " " + memory_.place(recent.at);
    text += "\n";
  }
  return text;
}

// ---------------------------------------------------------------- accesses

void World::await_turn(Fiber& fiber) {
  if (fiber.clock <= keys_[1] >> kIdBits) return;
  set_key(fiber.id, fiber.clock << kIdBits | fiber.id);
  dispatch();
}

/// Returns when the fiber is the earliest; leaves its body if its transaction is doomed or must abort now by plan.
void World::take_turn(Fiber& fiber, AbortMoment moment) {
  await_turn(fiber);
  if (!fiber.transaction.running()) return;
  if (fiber.doomed) fiber.transaction.unwind();
  if (fiber.transaction.planned(moment)) abort(fiber.transaction.planned_status());
}

void World::event(Fiber& fiber, Event event, const void* at, u32 line) {
  if (++outcome_.events > event_limit_) fail("livelock: more than " + std::to_string(event_limit_) + " events");
  recent_[outcome_.events % kRecent] = {at, fiber.clock, fiber.id, event, fiber.transaction.running()};
  outcome_.trace =
      (outcome_.trace ^ (u64{line} << 12 | u64{fiber.id} << 4 | static_cast<u64>(event))) * 0x9e3779b97f4a7c15u;
  outcome_.trace ^= outcome_.trace >> 29;
  fiber.clock += costs_->cost({fiber.id, event, line, fiber.clock});
}

/// Makes one access an event. Flattened, because the race finder spends most of its time here.
[[gnu::flatten]] void World::access(Fiber& fiber, const void* p, u32 bytes, Event kind) {
  if (fiber.transaction.unwinding()) return;
  take_turn(fiber, AbortMoment::kAccess);
  if (!memory_.accessible(p, bytes)) {
    fail((kind == Event::kLoad ? "read of " : "write to ") + memory_.complaint(p, bytes));
  }
  const bool writes = kind != Event::kLoad;
  const u32 number = memory_.line_number(p);
  const u64 began = fiber.clock;
  event(fiber, kind, p, number);
  const auto affect = [&](u32 n) {
    SimulatedMemory::Line& line = memory_.line(n);
    add_to_sets(fiber, line, n, writes);
    if (writes && line.waited) {
      line.waited = false;
      wake(n, began);
    }
  };
  affect(number);
  // A row may cross the border of two lines.
  const char* const last = static_cast<const char*>(p) + bytes - 1;
  if ((reinterpret_cast<u64>(p) ^ reinterpret_cast<u64>(last)) / kLineBytes != 0) affect(memory_.line_number(last));
}

void World::access_outside(const void* p, u32 bytes, Event kind) {
  if (memory_.accessible(p, bytes)) return;
  fail((kind == Event::kLoad ? "read of " : "write to ") + memory_.complaint(p, bytes));
}

/// Adds the line to the fiber's read or write set. The requester wins: a conflicting transaction is undone now.
void World::add_to_sets(Fiber& fiber, SimulatedMemory::Line& line, u32 number, bool writes) {
  const u64 mine = u64{1} << fiber.id;
  if (line.writer1 != 0 && line.writer1 != fiber.id + 1) doom(*fibers_[line.writer1 - 1]);
  if (writes) {
    while (const u64 others = line.readers & ~mine) doom(*fibers_[static_cast<u32>(std::countr_zero(others))]);
  }
  if (!fiber.transaction.running()) return;
  if (writes && line.writer1 == 0) {
    line.writer1 = static_cast<u8>(fiber.id + 1);
    fiber.lines_written.push_back(number);
  }
  if (!writes && !fiber.transaction.suspended() && !(line.readers & mine)) {
    line.readers |= mine;
    fiber.lines_read.push_back(number);
  }
}

void World::touch(const void* p, std::size_t bytes, Access access_kind) {
  if (bytes == 0) return;
  const Event kind = access_kind == Access::kRead ? Event::kLoad : Event::kStore;
  const char* at = static_cast<const char*>(p);
  for (const char* const end = at + bytes; at < end;) {
    const u64 to_border = kLineBytes - reinterpret_cast<u64>(at) % kLineBytes;
    const u32 here = static_cast<u32>(std::min<u64>(to_border, static_cast<u64>(end - at)));
    if (me) {
      access(*me, at, here, kind);
    } else {
      access_outside(at, here, kind);
    }
    at += here;
  }
}

// ---------------------------------------------------------------- waiting

void World::park(const void* p) {
  if (!me) {
    std::fprintf(stderr, "simulated machine: a wait outside virtual time would last for ever\n");
    std::abort();
  }
  const u32 number = memory_.line_number(p);
  memory_.line(number).waited = true;
  waiters_.push_back({number, me->id});
  dispatch();
}

void World::wake(u32 line, u64 stored) {
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (waiter.line != line) return false;
    Fiber& sleeper = *fibers_[waiter.fiber];
    sleeper.clock = costs_->wake(sleeper.id, sleeper.clock, stored);
    set_key(sleeper.id, sleeper.clock << kIdBits | sleeper.id);
    return true;
  });
}

void World::pass(Event kind) {
  Fiber& fiber = current();
  if (fiber.transaction.unwinding()) return;
  if (fiber.transaction.running()) abort(0);
  if (!me) return;
  await_turn(fiber);
  event(fiber, kind);
}

// ---------------------------------------------------------------- transactions

void World::begin() {
  Fiber& fiber = current();
  const bool outermost = fiber.transaction.enter(fiber.plan);
  if (fiber.transaction.too_deep()) abort(kAbortNested);
  if (fiber.transaction.suspended()) abort(0);
  if (me && outermost) {
    await_turn(fiber);
    event(fiber, Event::kBegin);
  }
  if (outermost && fiber.transaction.planned(AbortMoment::kBegin)) abort(fiber.transaction.planned_status());
}

void World::commit() {
  Fiber& fiber = current();
  if (fiber.transaction.suspended()) abort(0);
  if (fiber.transaction.depth() == 1) {
    if (me) {
      take_turn(fiber, AbortMoment::kCommit);
      event(fiber, Event::kCommit);
    } else if (fiber.transaction.planned(AbortMoment::kCommit)) {
      abort(fiber.transaction.planned_status());
    }
  }
  if (!fiber.transaction.leave()) return;
  forget_lines(fiber);
  for (const auto& freed : fiber.transaction.take_freed()) deallocate(freed.block, freed.bytes);
}

void World::suspend_loads() {
  if (!current().transaction.suspend()) abort(0);
}

void World::resume_loads() {
  if (!current().transaction.resume()) abort(0);
}

void World::abort(u32 status) {
  Fiber& fiber = current();
  if (!fiber.doomed) {
    fiber.transaction.undo(status);
    forget_lines(fiber);
  }
  fiber.transaction.unwind();
}

void World::abort_explicitly(u8 code) {
  const SoftwareTransaction& transaction = current().transaction;
  if (!transaction.running()) {
    std::fprintf(stderr, "simulated machine: abort<%u> outside a transaction\n", u32{code});
    std::abort();
  }
  abort(explicit_status(code) | (transaction.depth() > 1 ? kAbortNested : 0));
}

void World::doom(Fiber& victim) {
  victim.transaction.undo(kAbortConflict | kAbortRetry);
  forget_lines(victim);
  victim.doomed = true;
}

void World::forget_lines(Fiber& fiber) {
  for (const u32 number : fiber.lines_read) memory_.line(number).readers &= ~(u64{1} << fiber.id);
  for (const u32 number : fiber.lines_written) memory_.line(number).writer1 = 0;
  fiber.lines_read.clear();
  fiber.lines_written.clear();
}

u32 World::caught() {
  Fiber& fiber = current();
  if (!fiber.transaction.caught()) throw;
  fiber.doomed = false;
  ++outcome_.aborts;
  if (me) event(fiber, Event::kAbort);
  return fiber.transaction.status();
}

u32 World::caught_foreign() {
  Fiber& fiber = current();
  if (fiber.transaction.depth() > 1) {
    fiber.transaction.caught();
    throw;
  }
  if (!fiber.doomed) {
    fiber.transaction.undo(0);
    forget_lines(fiber);
  }
  return caught();
}

// ---------------------------------------------------------------- memory

void* World::allocate(std::size_t bytes) {
  Fiber& fiber = current();
  if (me && !fiber.transaction.unwinding()) {
    take_turn(fiber, AbortMoment::kAccess);
    event(fiber, Event::kMemory);
  }
  return memory_.allocate(bytes, me ? me->id : ~0u);
}

void World::deallocate(void* p, std::size_t bytes) {
  if (!p) return;
  Fiber& fiber = current();
  if (me && !fiber.transaction.unwinding()) {
    take_turn(fiber, AbortMoment::kAccess);
    if (fiber.transaction.running()) {
      fiber.transaction.free_at_commit(p, bytes);
      return;
    }
    event(fiber, Event::kMemory);
  }
  const std::string complaint = memory_.deallocate(p);
  if (!complaint.empty()) fail(complaint);
}

}  // namespace latchlab
