#pragma once
// `rowex`: read-optimized write exclusion (Leis, Scheibner, Kemper, Neumann, DaMoN 2016). Writers are those of `olc`;
// readers validate nothing, so no writer makes them restart.
//
// What that leaves to be proved, the index proves (kLatchFreeReaders): each change of it is one store for who reads,
// and a node that was unlinked stays as its last writer left it, for as long as somebody inside an epoch may read it.
// What a reader finds in it was so at the unlinking, which came after the reader had found its way there. A body may
// still ask for a restart by itself (as in scans that find nothing where something must have been), and read_restarts
// counts those.
#include "sync/direct_tx.h"
#include "sync/layout.h"
#include "sync/optimistic.h"

namespace latchlab {

template <class M, class Bugs = NoBugs>
class Rowex : public Optimistic<LatchFreeLayout<M, Bugs>> {
 public:
  static constexpr std::string_view kName = "rowex";
  static constexpr std::string_view kAbout = "olc whose readers validate nothing, for indexes that bear them";
  using ReadTx = DirectTx<M>;

  explicit Rowex(const NoOptions&) {}

  template <class Me, class Body>
  [[gnu::always_inline]] auto read(Me& me, const Body& body) {
    return this->read_by(me, body, [&] { return ReadTx(*me.pool); });
  }
};

}  // namespace latchlab
