#pragma once
// Modelled: up to 256 fibers in virtual time, on a model of a processor (ModelledWorld). It runs the source that Native
// runs, and makes the same references to memory:
//   1. a row, or the line that a search looks at, is one event;
//   2. a prefetch is an event, and so is a full fence;
//   3. chunks and blocks come from memory that is used again.
//
// No transaction of a modelled processor undoes a store that is not to a cell. So indexes without cells need a lock.
#include <string_view>

#include "src/machine/virtual_machine.h"

namespace latchlab {

struct Modelled : VirtualMachine<Modelled, ModelledWorld> {
  static constexpr std::string_view kName = "modelled";
  static constexpr bool kReadsWholeLines = true;
  static constexpr bool kLoadsWholeRows = true;
  /// What a processor does after XACQUIRE is what hle:emulated does in software.
  static constexpr bool kPrefixesAreTransactions = true;

  static void full_fence() { ModelledWorld::get().fence(); }
  /// Costs its caller a fence. The interrupts of other processors are not modelled.
  static void heavy_fence() { ModelledWorld::get().fence(); }
  static void prefetch(const void* p, Access) { ModelledWorld::get().prefetch(p); }
  static void name(const void* p, std::size_t bytes, std::string_view name) {
    ModelledWorld::get().memory().name(p, bytes, name);
  }
  static void begin_operation() { ModelledWorld::get().begin_operation(); }
  static PageSource* pages();
};

static_assert(Machine<Modelled>);

}  // namespace latchlab
