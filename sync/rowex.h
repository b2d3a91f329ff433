#pragma once
// `rowex`: read-optimized write exclusion (Leis, Scheibner, Kemper, Neumann, DaMoN 2016). Writers work as in `olc`.
// Readers validate nothing, so no writer makes them restart.
//
// The index guarantees the rest (kLatchFreeReaders). Each change becomes visible to readers by one store. An unlinked
// node stays as its last writer left it, for as long as a thread inside an epoch may read it. So the data that a reader
// finds in it was current at the unlinking, which came after the reader had reached the node. A body may still ask for
// a restart by itself; a scan does, if it finds no pair where one must have been. read_restarts counts these restarts.
#include "sync/direct_tx.h"
#include "sync/layout.h"
#include "sync/optimistic.h"

namespace latchlab {

template <class M, class Bugs = NoBugs>
class Rowex : public Optimistic<LatchFreeLayout<M, Bugs>> {
 public:
  static constexpr std::string_view kName = "rowex";
  static constexpr std::string_view kAbout = "olc whose readers validate nothing, for indexes that allow it";
  using ReadTx = DirectTx<M>;

  explicit Rowex(const NoOptions&) {}

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, const Body& body) {
    return this->read_by(me, body, [&] { return ReadTx(*me.pool); });
  }
};

}  // namespace latchlab
