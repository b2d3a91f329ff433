#include "src/machine/simulated_world.h"

#include <cstdio>
#include <cstdlib>

#include "src/machine/simulated_fibers.h"

namespace latchlab {

// ---------------------------------------------------------------- accesses

template <class Traits>
void VirtualWorld<Traits>::await_turn(Fiber& fiber) {
  if (fiber.clock <= keys_[1] >> kIdBits) return;
  set_key(fiber.id, fiber.clock << kIdBits | fiber.id);
  dispatch();
}

/// Returns when the fiber is the earliest; leaves its body if its transaction is doomed or must abort now by plan.
template <class Traits>
void VirtualWorld<Traits>::take_turn(Fiber& fiber, AbortMoment moment) {
  await_turn(fiber);
  if (!fiber.transaction.running()) return;
  if (fiber.doomed) fiber.transaction.unwind();
  if (fiber.transaction.planned(moment)) abort(fiber.transaction.planned_status());
}

template <class Traits>
void VirtualWorld<Traits>::record(Fiber& fiber, Event event, const void* at, u32 line) {
  if (++outcome_.events > event_limit_) fail_livelock();
  recent_[outcome_.events % kRecent] = {at, fiber.clock, fiber.id, event, fiber.transaction.running()};
  outcome_.trace =
      (outcome_.trace ^ (u64{line} << 12 | u64{fiber.id} << 4 | static_cast<u64>(event))) * 0x9e3779b97f4a7c15u;
  outcome_.trace ^= outcome_.trace >> 29;
}

template <class Traits>
void VirtualWorld<Traits>::event(Fiber& fiber, Event event, const void* at, u32 line) {
  record(fiber, event, at, line);
  const u64 began = fiber.clock;
  fiber.clock += costs_->cost({fiber.id, event, line, began});
  if constexpr (Traits::kModels) end_transactions(fiber, began);
}

/// Makes a reference to memory an event; leaves the body if the processor ends the transaction.
template <class Traits>
void VirtualWorld<Traits>::refer(Fiber& fiber, Event kind, const void* p, u32 bytes, u32 line) {
  if constexpr (Traits::kModels) {
    record(fiber, kind, p, line);
    const u64 began = fiber.clock;
    fiber.clock += costs_->reference({.step = {fiber.id, kind, line, began},
                                      .address = memory_.address_of(p, line),
                                      .bytes = bytes,
                                      .block = memory_.block_of(p, line),
                                      .in_transaction = fiber.transaction.running()});
    end_transactions(fiber, began);
  } else {
    event(fiber, kind, p, line);
  }
}

/// Undoes the transactions that the last step ended, and leaves the body if the fiber's own is among them.
template <class Traits>
void VirtualWorld<Traits>::end_transactions(Fiber& fiber, u64 at) {
  const EndedTransaction* own = nullptr;
  for (const EndedTransaction& ended : costs_->ended()) {
    Fiber& victim = *fibers_[ended.fiber];
    if (!victim.transaction.running() || victim.doomed) continue;
    if (&victim == &fiber) {
      own = &ended;
    } else {
      doom(victim, ended.status, at);
    }
  }
  if (own) abort(own->status);
}

/// Makes one access an event.
template <class Traits>
void VirtualWorld<Traits>::access(Fiber& fiber, const void* p, u32 bytes, Event kind) {
  if (fiber.transaction.unwinding()) return;
  take_turn(fiber, AbortMoment::kAccess);
  if (!memory_.accessible(p, bytes)) fail_access(p, bytes, kind);
  const bool writes = kind != Event::kLoad;
  const u32 number = memory_.line_number(p);
  const u64 began = fiber.clock;
  refer(fiber, kind, p, bytes, number);
  const auto affect = [&](u32 n, const void* at) {
    typename Memory::Line* const line = memory_.line_of_access(n, fiber.transaction.running());
    if (!line) return;
    add_to_sets(fiber, *line, n, at, writes, began);
    if (writes && line->waited) {
      line->waited = false;
      wake(n, began);
    }
  };
  affect(number, p);
  // A row may cross the border of two lines.
  const char* const last = static_cast<const char*>(p) + bytes - 1;
  if ((reinterpret_cast<u64>(p) ^ reinterpret_cast<u64>(last)) / kLineBytes != 0)
    affect(memory_.line_number(last), last);
}

template <class Traits>
void VirtualWorld<Traits>::access_outside(const void* p, u32 bytes, Event kind) {
  if (!memory_.accessible(p, bytes)) fail_access(p, bytes, kind);
}

/// Adds the line to the fiber's read or write set. The requester wins: a conflicting transaction is undone now.
template <class Traits>
void VirtualWorld<Traits>::add_to_sets(Fiber& fiber, typename Memory::Line& line, u32 number, const void* p,
                                       bool writes, u64 at) {
  const auto lose = [&](u32 other) {
    if constexpr (Traits::kModels) {
      costs_->conflict(other, fiber.id, memory_.address_of(p, number), memory_.block_bytes(p));
    }
    doom(*fibers_[other], kAbortConflict | kAbortRetry, at);
  };
  if (line.writer1 != 0 && line.writer1 != fiber.id + 1) lose(line.writer1 - 1u);
  if (writes) line.readers.drain_others(fiber.id, lose);
  if (!fiber.transaction.running()) return;
  if (writes && line.writer1 == 0) {
    line.writer1 = static_cast<u16>(fiber.id + 1);
    fiber.lines_written.push_back(number);
  }
  if (!writes && !fiber.transaction.suspended() && !line.readers.has(fiber.id)) {
    line.readers.add(fiber.id);
    fiber.lines_read.push_back(number);
  }
}

template <class Traits>
void VirtualWorld<Traits>::touch(const void* p, std::size_t bytes, Access access_kind) {
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

template <class Traits>
void VirtualWorld<Traits>::park(const void* p) {
  if (!me) {
    std::fprintf(stderr, "simulated machine: a wait outside virtual time would last for ever\n");
    std::abort();
  }
  watch(p);
  sleep();
}

template <class Traits>
void VirtualWorld<Traits>::watch(const void* p) {
  const u32 number = memory_.line_number(p);
  memory_.line(number).waited = true;
  waiters_.push_back({number, me->id});
}

template <class Traits>
void VirtualWorld<Traits>::sleep() {
  if (!me->stirred) {
    me->asleep = true;
    dispatch();
  }
  me->stirred = false;
}

template <class Traits>
void VirtualWorld<Traits>::unwatch() {
  std::erase_if(waiters_, [](const Waiter& waiter) { return waiter.fiber == me->id; });
}

template <class Traits>
void VirtualWorld<Traits>::wake(u32 line, u64 stored) {
  std::erase_if(waiters_, [&](const Waiter& waiter) {
    if (waiter.line != line) return false;
    Fiber& sleeper = *fibers_[waiter.fiber];
    if (sleeper.asleep) {
      rouse(sleeper, costs_->wake(sleeper.id, sleeper.clock, stored));
    } else {
      sleeper.stirred = true;
    }
    return true;
  });
}

template <class Traits>
void VirtualWorld<Traits>::rouse(Fiber& sleeper, u64 clock) {
  sleeper.asleep = false;
  sleeper.clock = clock;
  set_key(sleeper.id, clock << kIdBits | sleeper.id);
}

template <class Traits>
void VirtualWorld<Traits>::pass(Event kind) {
  Fiber& fiber = current();
  if (fiber.transaction.unwinding()) return;
  if (fiber.transaction.running()) abort(0);
  if (!me) return;
  await_turn(fiber);
  event(fiber, kind);
}

// ---------------------------------------------------------------- transactions

template <class Traits>
void VirtualWorld<Traits>::begin() {
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

template <class Traits>
void VirtualWorld<Traits>::commit() {
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

template <class Traits>
void VirtualWorld<Traits>::suspend_loads() {
  if (!current().transaction.suspend()) abort(0);
}

template <class Traits>
void VirtualWorld<Traits>::resume_loads() {
  if (!current().transaction.resume()) abort(0);
}

template <class Traits>
void VirtualWorld<Traits>::abort(u32 status) {
  Fiber& fiber = current();
  if (!fiber.doomed) undo(fiber, status, fiber.clock);
  fiber.transaction.unwind();
}

template <class Traits>
void VirtualWorld<Traits>::abort_explicitly(u8 code) {
  const SoftwareTransaction& transaction = current().transaction;
  if (!transaction.running()) {
    std::fprintf(stderr, "simulated machine: abort<%u> outside a transaction\n", u32{code});
    std::abort();
  }
  abort(explicit_status(code) | (transaction.depth() > 1 ? kAbortNested : 0));
}

template <class Traits>
void VirtualWorld<Traits>::undo(Fiber& fiber, u32 status, u64 at) {
  fiber.transaction.undo(status);
  forget_lines(fiber);
  if constexpr (Traits::kModels) {
    if (me) costs_->undone(fiber.id, status, at);
  }
}

/// Undoes the transaction of another fiber, which leaves its body when it runs next. On a modelled machine that is now:
/// a processor does not wait for a miss of an aborted transaction.
template <class Traits>
void VirtualWorld<Traits>::doom(Fiber& victim, u32 status, u64 at) {
  undo(victim, status, at);
  victim.doomed = true;
  if constexpr (Traits::kModels) {
    if (at >= victim.clock) return;
    victim.clock = at;
    set_key(victim.id, at << kIdBits | victim.id);  // it is in the tree: a fiber in a transaction is not parked
  }
}

template <class Traits>
void VirtualWorld<Traits>::forget_lines(Fiber& fiber) {
  for (const u32 number : fiber.lines_read) memory_.line(number).readers.remove(fiber.id);
  for (const u32 number : fiber.lines_written) memory_.line(number).writer1 = 0;
  fiber.lines_read.clear();
  fiber.lines_written.clear();
}

template <class Traits>
u32 VirtualWorld<Traits>::caught() {
  Fiber& fiber = current();
  if (!fiber.transaction.caught()) throw;
  fiber.doomed = false;
  ++outcome_.aborts;
  if (me) event(fiber, Event::kAbort);
  return fiber.transaction.status();
}

template <class Traits>
u32 VirtualWorld<Traits>::caught_foreign() {
  Fiber& fiber = current();
  if (fiber.transaction.depth() > 1) {
    fiber.transaction.caught();
    throw;
  }
  if (!fiber.doomed) undo(fiber, 0, fiber.clock);
  return caught();
}

// ---------------------------------------------------------------- memory

template <class Traits>
void* VirtualWorld<Traits>::allocate(std::size_t bytes) {
  Fiber& fiber = current();
  if (me && !fiber.transaction.unwinding()) {
    take_turn(fiber, AbortMoment::kAccess);
    event(fiber, Event::kMemory);
  }
  if constexpr (Traits::kModels) {
    AllocatorModel* const allocator = memory_.allocator();
    void* const block =
        allocator ? allocate_by_model(fiber, *allocator, bytes) : memory_.allocate(bytes, me ? me->id : ~0u);
    if (costs_ && block) costs_->allocated(fiber.id, memory_.address_of(block), bytes);
    return block;
  } else {
    return memory_.allocate(bytes, me ? me->id : ~0u);
  }
}

template <class Traits>
void VirtualWorld<Traits>::deallocate(void* p, std::size_t bytes) {
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
  if constexpr (Traits::kModels) {
    if (costs_) costs_->freed(fiber.id, memory_.address_of(p), bytes);
    if (AllocatorModel* const allocator = memory_.allocator()) return deallocate_by_model(fiber, *allocator, p, bytes);
  }
  const std::string complaint = memory_.deallocate(p, bytes, me ? me->id : ~0u);
  if (!complaint.empty()) fail(complaint);
}

// ---------------------------------------------------------------- what only models see

/// Takes a block as the model of an allocator does. No other fiber runs before the block is taken.
template <class Traits>
void* VirtualWorld<Traits>::allocate_by_model(Fiber& fiber, AllocatorModel& allocator, std::size_t bytes)
  requires(Traits::kModels)
{
  const u32 number = me ? me->id : ~0u, owner = Memory::owner_of(number);
  if (bytes > memory_.largest_small()) {
    trap(KernelCall::kMap);
    void* const block = memory_.allocate(bytes, number);
    if (block != nullptr) mapped(block, bytes, false, memory_.placement());
    return block;
  }
  allocator.begin(owner);
  while (const std::optional<KernelCall> call = allocator.needs(owner, Memory::asked(bytes))) {
    trap(*call);
    const auto fresh = allocator.grown(owner, Memory::asked(bytes));
    if (!fresh) return nullptr;
    if (fresh->bytes != 0) mapped(memory_.at(fresh->offset), fresh->bytes, false, memory_.placement());
  }
  /// Gives the block back if a reference of the allocator ends the transaction.
  struct Undone {
    ~Undone() {
      if (block != nullptr) (void)memory.deallocate(block, bytes, number);
    }
    Memory& memory;
    std::size_t bytes;
    u32 number;
    void* block;
  } undone{memory_, bytes, number, memory_.allocate(bytes, number)};
  follow(fiber, allocator);
  return std::exchange(undone.block, nullptr);
}

template <class Traits>
void VirtualWorld<Traits>::deallocate_by_model(Fiber& fiber, AllocatorModel& allocator, void* p, std::size_t bytes)
  requires(Traits::kModels)
{
  const u32 number = me ? me->id : ~0u;
  if (bytes > memory_.largest_small()) {
    trap(KernelCall::kMap);
    unmapped(p, bytes);
    (void)memory_.deallocate(p, bytes, number);
    return;
  }
  allocator.begin(Memory::owner_of(number));
  (void)memory_.deallocate(p, bytes, number);
  follow(fiber, allocator);
}

/// Makes the references of the fiber's last call of the allocator; in virtual time only.
template <class Traits>
void VirtualWorld<Traits>::follow(Fiber& fiber, const AllocatorModel& allocator)
  requires(Traits::kModels)
{
  if (!me || fiber.transaction.unwinding()) return;
  using Kind = AllocatorModel::Touch::Kind;
  for (const AllocatorModel::Touch& touch : allocator.touched(Memory::owner_of(fiber.id))) {
    auto* const word = reinterpret_cast<u64*>(memory_.at(touch.at));
    switch (touch.kind) {
      case Kind::kLoad: access(fiber, word, sizeof(u64), Event::kLoad); break;
      case Kind::kStore: access(fiber, word, sizeof(u64), Event::kStore); break;
      case Kind::kChange: access(fiber, word, sizeof(u64), Event::kReadModifyWrite); break;
      case Kind::kLock: take_lock(fiber, word); break;
      case Kind::kUnlock:
        if (write(word, Event::kStore)) *word = 0;
        break;
    }
  }
}

/// Takes a lock of the allocator. A transaction that finds it taken would sleep in the kernel, so it aborts.
template <class Traits>
void VirtualWorld<Traits>::take_lock(Fiber& fiber, u64* word)
  requires(Traits::kModels)
{
  for (;;) {
    read(word, sizeof(u64));
    if (*word == 0) {
      if (!write(word, Event::kReadModifyWrite)) return;
      if (std::exchange(*word, 1) == 0) return;
    } else if (fiber.transaction.running()) {
      abort(0);
    } else {
      park(word);
    }
  }
}

template <class Traits>
void VirtualWorld<Traits>::prefetch(const void* p) {
  if constexpr (Traits::kModels) {
    if (!me || me->transaction.unwinding()) return;
    await_turn(*me);
    const auto line = memory_.known_line(p);
    if (line && !me->doomed) refer(*me, Event::kPrefetch, p, 1, *line);
  }
}

template <class Traits>
void VirtualWorld<Traits>::begin_operation() {
  if constexpr (Traits::kModels) {
    if (!me || me->transaction.unwinding()) return;
    await_turn(*me);
    me->clock += costs_->begin_operation(me->id, me->clock);
  }
}

template <class Traits>
void VirtualWorld<Traits>::fence() {
  if constexpr (Traits::kModels) {
    if (!me || me->transaction.unwinding()) return;
    await_turn(*me);
    if (!me->doomed) event(*me, Event::kFence);
  }
}

template <class Traits>
void VirtualWorld<Traits>::trap(KernelCall call) {
  if constexpr (Traits::kModels) {
    Fiber& fiber = current();
    if (fiber.transaction.unwinding()) return;
    if (fiber.transaction.running()) abort(0);
    if (!me) return;
    const u64 began = fiber.clock;
    fiber.clock += costs_->trap(fiber.id, call, began);
    end_transactions(fiber, began);
  }
}

template <class Traits>
void VirtualWorld<Traits>::mapped(const void* p, u64 bytes, bool huge, const PagePlacement& placement) {
  if constexpr (Traits::kModels) {
    if (costs_) costs_->mapped(memory_.address_of(p), bytes, huge, placement);
  }
}

template <class Traits>
void VirtualWorld<Traits>::unmapped(const void* p, u64 bytes) {
  if constexpr (Traits::kModels) {
    if (costs_) costs_->unmapped(memory_.address_of(p), bytes);
  }
}

template class VirtualWorld<RaceFinding>;
template class VirtualWorld<Modelling>;

}  // namespace latchlab
