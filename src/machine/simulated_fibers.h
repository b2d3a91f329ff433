#pragma once
// The fibers of a virtual world, which is the part of its template that simulated_world.cc includes: their stacks, the
// switches between them, the choice of the earliest, and how a schedule ends.
#include <cxxabi.h>
#include <sys/mman.h>

#include <bit>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "src/arch/sanitizer.h"
#include "src/machine/simulated_world.h"

namespace latchlab {

// The size of a stack has room for Catch2's assertions and sanitized frames; untouched pages cost nothing.
inline constexpr std::size_t kStackBytes = std::size_t{256} << 10;
inline constexpr std::size_t kGuardBytes = 4096;

template <class Traits>
VirtualWorld<Traits>& VirtualWorld<Traits>::get() {
  static VirtualWorld world;
  return world;
}

template <class Traits>
VirtualWorld<Traits>::VirtualWorld() {
  instance_ = this;
}

template <class Traits>
VirtualWorld<Traits>::~VirtualWorld() {
  for (auto& fiber : fibers_) {
    if (fiber->context.sanitizer_fiber) sanitizer_destroy_fiber(fiber->context.sanitizer_fiber);
    munmap(static_cast<char*>(const_cast<void*>(fiber->context.stack)) - kGuardBytes, kStackBytes + kGuardBytes);
  }
  instance_ = nullptr;
}

template <class Traits>
void VirtualWorld<Traits>::reset() {
  memory_.reset();
  servers_.clear();
  outside_.transaction.reset();
  outside_failure_.clear();
}

template <class Traits>
void VirtualWorld<Traits>::add_server(const std::function<void()>& serve) {
  if (me) throw std::logic_error("a server begins in virtual time, where only the fibers of the run are known");
  servers_.push_back(&serve);
}

template <class Traits>
void VirtualWorld<Traits>::give_stack(Fiber& fiber) {
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
  context.at = boost::context::detail::make_fcontext(static_cast<char*>(const_cast<void*>(context.stack)) + kStackBytes,
                                                     kStackBytes, fiber_main);
}

template <class Traits>
void VirtualWorld<Traits>::prepare(u32 id) {
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
  fiber.asleep = fiber.stirred = false;
  fiber.transaction.reset();
  fiber.lines_read.clear();
  fiber.lines_written.clear();
  fiber.plan = nullptr;
  fiber.waits_for = nullptr;
  fiber.context.exceptions = {};
  fiber.clock = costs_->start(id);
  set_key(id, fiber.clock << kIdBits | id);
}

template <class Traits>
typename VirtualWorld<Traits>::Outcome VirtualWorld<Traits>::run(u32 fibers, Costs& costs, u64 event_limit,
                                                                 const std::function<void(u32)>& body) {
  if (fibers + servers() > kMaxFibers)
    throw std::invalid_argument(std::to_string(fibers + servers()) + " fibers: a world has room for " +
                                std::to_string(kMaxFibers) + " at most");
  outcome_ = {};
  Costs* const outside = exchange_costs(&costs);
  body_ = &body;
  event_limit_ = event_limit;
  asked_for_ = fibers;
  running_ = fibers + servers();
  ending_ = false;
  waiters_.clear();
  leaves_ = std::bit_ceil(running_);
  keys_.assign(2 * leaves_, kNotRunnable);
  for (u32 i = 0; i < running_; ++i) prepare(i);
  home_.sanitizer_fiber = sanitizer_current_fiber();
  dispatch();
  exchange_costs(outside);
  return outcome_;
}

template <class Traits>
void VirtualWorld<Traits>::fiber_main(boost::context::detail::transfer_t from) {
  VirtualWorld& world = get_unchecked();
  world.landed(from);
  for (;;) {
    Fiber& fiber = *me;
    fiber.resting = false;
    try {
      if (fiber.id < world.asked_for_) {
        (*world.body_)(fiber.id);
      } else {
        (*world.servers_[fiber.id - world.asked_for_])();
      }
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

template <class Traits>
void VirtualWorld<Traits>::set_key(u32 fiber, u64 key) {
  u32 n = leaves_ + fiber;
  keys_[n] = key;
  for (n >>= 1; n > 0; n >>= 1) keys_[n] = std::min(keys_[2 * n], keys_[2 * n + 1]);
}

/// Switches to the earliest fiber, or home if no fiber can run.
template <class Traits>
void VirtualWorld<Traits>::dispatch() {
  const u64 earliest = keys_[1];
  if (earliest == kNotRunnable) {
    end_run();
    return;
  }
  const u32 next = earliest & ((1u << kIdBits) - 1);
  set_key(next, kNotRunnable);
  Fiber& fiber = *fibers_[next];
  if (&fiber == me) return;
  ++outcome_.switches;
  jump(fiber.context, &fiber);
}

/// Switches to another stack.
template <class Traits>
void VirtualWorld<Traits>::jump(Context& to, Fiber* next) {
  auto* const state = reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals());
  Context& from = *on_;
  from.exceptions = *state;
  *state = to.exceptions;
  left_ = &from;
  on_ = &to;
  me = next;
  sanitizer_leave_stack(&from.fake_stack, to.stack, to.stack_bytes);
  sanitizer_switch_to_fiber(to.sanitizer_fiber);
  landed(boost::context::detail::jump_fcontext(to.at, nullptr));
}

template <class Traits>
void VirtualWorld<Traits>::landed(boost::context::detail::transfer_t from) {
  left_->at = from.fctx;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
  sanitizer_enter_stack(on_->fake_stack, &bottom, &bytes);
  if (left_ == &home_) {
    home_.stack = bottom;
    home_.stack_bytes = bytes;
  }
}

/// Goes home, once the servers have returned. It is a deadlock if other fibers are not done.
template <class Traits>
void VirtualWorld<Traits>::end_run() {
  std::string waiting;
  const auto waits = [&](u32 i) {
    if (!fibers_[i]->done) waiting += (waiting.empty() ? "" : ", ") + std::to_string(i);
  };
  for (u32 i = 0; i < asked_for_; ++i) waits(i);
  if (waiting.empty() && !ending_) {
    ending_ = true;
    for (u32 i = asked_for_; i < running_; ++i) {
      if (!fibers_[i]->done) rouse(*fibers_[i], fibers_[i]->clock);
    }
    return dispatch();  // comes back here when no server can run
  }
  for (u32 i = asked_for_; i < running_; ++i) waits(i);
  if (!waiting.empty()) outcome_.failure = "deadlock: fibers wait for ever: " + waiting;
  jump(home_, nullptr);
}

template <class Traits>
void VirtualWorld<Traits>::fail(const std::string& what) {
  if (!me) {
    if (outside_failure_.empty()) outside_failure_ = what + " (outside virtual time)";
    return;
  }
  outcome_.failure = what + " (fiber " + std::to_string(me->id) + ", event " + std::to_string(outcome_.events) +
                     ", at " + std::to_string(now()) + " ns)";
  jump(home_, nullptr);
}

template <class Traits>
void VirtualWorld<Traits>::fail_livelock() {
  fail("livelock: more than " + std::to_string(event_limit_) + " events");
}

template <class Traits>
void VirtualWorld<Traits>::fail_access(const void* p, u32 bytes, Event kind) {
  fail((kind == Event::kLoad ? "read of " : "write to ") + memory_.complaint(p, bytes));
}

template <class Traits>
std::string VirtualWorld<Traits>::recent_events() const {
  static constexpr std::array kNames{"load",   "store", "change", "begin",    "commit", "abort",
                                     "memory", "pause", "yield",  "prefetch", "fence"};
  std::string text;
  const u64 last = std::min(outcome_.events, event_limit_);
  for (u64 i = last > kRecent ? last - kRecent + 1 : 1; i <= last; ++i) {
    const Recent& recent = recent_[i % kRecent];
    text += "  event " + std::to_string(i) + " at " + std::to_string(recent.clock / kTicksPerNs) + " ns: fiber " +
            std::to_string(recent.fiber) + (recent.in_transaction ? " (in a transaction) " : " ") +
            kNames[static_cast<std::size_t>(recent.event)];
    if (recent.at) text += " " + memory_.place(recent.at);
    text += "\n";
  }
  return text;
}

}  // namespace latchlab
