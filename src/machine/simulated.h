#pragma once
// Simulated: up to 64 fibers in virtual time (simulated_world.h). With random costs it is the race finder
// (race_finder.h).
//
// Here a field of a coarse policy and a field of an optimistic policy are the same. Every access to a cell or a row is
// an event. (A store to a racy row is two events: it reads a word and writes it.) Memory between events is sequentially
// consistent, so memory orders and fences mean nothing. ThreadSanitizer finds missing ones, on Emulated.
#include <string_view>

#include "src/machine/virtual_machine.h"

namespace latchlab {

struct Simulated : VirtualMachine<Simulated, World> {
  static constexpr std::string_view kName = "simulated";
  static constexpr bool kReadsWholeLines = false;

  static void prefetch(const void*, Access) {}  // no event, because another fiber cannot observe it
  static void begin_operation() {}
  static PageSource* pages() { return nullptr; }  // no chunks: the memory map must know when each block is freed
};

static_assert(Machine<Simulated>);

}  // namespace latchlab
