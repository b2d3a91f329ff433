// ART under optimistic lock coupling, on the race finder.
#include "indexes/art/art.h"
#include "indexes/art/race_mixes_test.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab::testing {
namespace {

/// Operations that do not announce themselves.
struct UnderQsbr : Synchronized<Art, Olc<Simulated>, U64Key> {
  UnderQsbr(const Spec& policy, MemoryConfig memory) : Synchronized(policy, with_qsbr(memory)) {}
  static MemoryConfig with_qsbr(MemoryConfig memory) {
    memory.reclaim = Reclaim::kQsbr;
    return memory;
  }
};

TEST_CASE("Races: ART under olc with numbers", "[race]") {
  explore<Synchronized<Art, Olc<Simulated>, U64Key>>(number_mixes(), "olc", {});
}

TEST_CASE("Races: ART under olc with numbers, reclaimed at quiescent states", "[race]") {
  explore<UnderQsbr>(number_mixes(), "olc", {});
}

TEST_CASE("Races: ART's large nodes under olc", "[race]") {
  explore<Synchronized<Art, Olc<Simulated>, U64Key>>(large_node_mixes(), "olc", {});
}

TEST_CASE("Races: ART's scans under olc, within a batch and across batches", "[race]") {
  explore<Synchronized<Art, Olc<Simulated>, U64Key>>(scan_mixes(), "olc", {});
  explore<Synchronized<ArtInSmallBatches, Olc<Simulated>, U64Key>>(scan_mixes(), "olc", {});
}

TEST_CASE("Races: ART under olc with strings", "[race]") {
  explore<Synchronized<Art, Olc<Simulated>, BytesKey>>(string_mixes(), "olc", {});
}

}  // namespace
}  // namespace latchlab::testing
