#include "src/machine/model_costs.h"

#include <algorithm>

#include "src/machine/simulated_world.h"
#include "src/memory/numa.h"

namespace latchlab {
namespace {

static_assert(ModelledWorld::kTicksPerNs == model::kTicksPerNs, "both count the same ticks");

model::Kind kind_of(Event event) {
  switch (event) {
    case Event::kStore: return model::Kind::kStore;
    case Event::kReadModifyWrite: return model::Kind::kReadModifyWrite;
    case Event::kPrefetch: return model::Kind::kPrefetch;
    default: return model::Kind::kLoad;
  }
}

/// Returns the homes that a placement means; the nodes of a modelled machine are its clusters.
model::Homes homes_of(const PagePlacement& placement) {
  model::Homes homes;
  switch (placement.kind) {
    case PagePlacement::Kind::kFirstTouch: return homes;
    case PagePlacement::Kind::kLocal: return {.kind = model::Homes::Kind::kLocal};
    case PagePlacement::Kind::kInterleave: homes.kind = model::Homes::Kind::kInterleave; break;
    case PagePlacement::Kind::kBind: homes.kind = model::Homes::Kind::kBind; break;
  }
  for (const u32 node : placement.nodes) homes.clusters |= node < 64 ? u64{1} << node : 0;
  return homes;
}

}  // namespace

/// Keeps the transactions that the model's last call ended, since the world may call the model before it asks.
u64 ModelCosts::note_ended(model::Ticks ticks) {
  ended_.clear();
  for (const model::Ended& ended : model_.ended()) ended_.push_back({fiber_of(ended.thread), ended.status});
  return ticks;
}

u64 ModelCosts::cost(const FiberStep& step) {
  ended_.clear();
  // One tick for a step by which a fiber waits, so that others run.
  if (!takes_time(step.fiber)) return step.event == Event::kPause || step.event == Event::kYield ? 1 : 0;
  const u32 thread = thread_of(step.fiber);
  switch (step.event) {
    case Event::kBegin: return note_ended(model_.begin(thread, step.clock));
    case Event::kCommit: return note_ended(model_.commit(thread, step.clock));
    case Event::kFence: return note_ended(model_.fence(thread, step.clock));
    case Event::kAbort: return model_.abort(thread, step.clock);
    case Event::kPause: return model_.spend(thread, model::Cause::kPauses, kPauseTicks, step.clock);
    case Event::kYield: return model_.spend(thread, model::Cause::kPauses, kYieldTicks, step.clock);
    default:
      return model_.spend(thread, model::Cause::kAllocations,
                          ModelledWorld::get().memory().ns_of_call() * model::kTicksPerNs, step.clock);
  }
}

u64 ModelCosts::reference(const FiberReference& reference) {
  ended_.clear();
  const u32 fiber = reference.step.fiber, thread = thread_of(fiber);
  const model::Kind kind = kind_of(reference.step.event);
  if (!takes_time(fiber)) {
    const bool writes = kind == model::Kind::kStore || kind == model::Kind::kReadModifyWrite;
    if (writes && thread != kNoThread) model_.loaded(thread, reference.address, reference.bytes);
    return 0;
  }
  return note_ended(model_.access({.thread = thread,
                                   .kind = kind,
                                   .address = reference.address,
                                   .bytes = reference.bytes,
                                   .block = reference.block,
                                   .in_transaction = reference.in_transaction},
                                  reference.step.clock));
}

u64 ModelCosts::wake(u32 fiber, u64 asleep, u64 stored) {
  if (!takes_time(fiber)) return std::max(asleep, stored);
  return model_.wake(thread_of(fiber), asleep, stored);
}

u32 ModelCosts::node(u32 fiber) {
  const u32 thread = thread_of(fiber);
  return thread == kNoThread ? 0 : model_.node(thread);
}

u64 ModelCosts::begin_operation(u32 fiber, u64 clock) {
  return takes_time(fiber) ? note_ended(model_.begin_operation(thread_of(fiber), clock)) : 0;
}

u64 ModelCosts::trap(u32 fiber, KernelCall call, u64 clock) {
  ended_.clear();
  if (!takes_time(fiber)) return 0;
  return note_ended(
      model_.trap(thread_of(fiber), call == KernelCall::kProtect ? model::Call::kProtect : model::Call::kMap, clock));
}

void ModelCosts::conflict(u32 loser, u32 fiber, u64 address, u64 bytes) {
  if (!takes_time(loser)) return;
  model_.conflict(thread_of(loser), address, bytes != 0 ? bytes : structure_of_line(address / kLineBytes),
                  thread_of(fiber));
}

void ModelCosts::undone(u32 fiber, u32 status, u64 clock) {
  if (takes_time(fiber)) model_.undone(thread_of(fiber), status, clock);
}

void ModelCosts::mapped(u64 address, u64 bytes, bool huge, const PagePlacement& placement) {
  model_.mapped(address, bytes, homes_of(placement), huge);
}

}  // namespace latchlab
