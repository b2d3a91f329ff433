// Tests of properties that only peers have: the policies under which they run, their answers when memory is out, the
// bytes that they count, and their versions in `harness list`. The conformance tests compare them with a map.
#include <map>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "harness/commands/list.h"
#include "harness/config/registry.h"
#include "indexes/art/art.h"
#include "indexes/peers/absl_flat.h"
#include "indexes/peers/map_body.h"
#include "indexes/peers/std_map.h"
#include "indexes/peers/std_unordered.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/testing/catch.h"
#include "sync/adaptive.h"
#include "sync/concepts.h"
#include "sync/hle.h"
#include "sync/hybrid.h"
#include "sync/mutex.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/rowex.h"
#include "sync/rtm.h"
#include "sync/rwspin.h"
#include "sync/seq.h"
#include "sync/striped.h"

namespace latchlab::testing {
namespace {

template <template <class, class> class Index, class Policy>
constexpr bool kRunsUnder = Admits<Index<typename Policy::Layout, U64Key>, Policy>;

template <template <class, class> class Index, class... Policies>
constexpr bool kRunsUnderAll = (kRunsUnder<Index, Policies> && ...);
template <template <class, class> class Index, class... Policies>
constexpr bool kRunsUnderNone = (!kRunsUnder<Index, Policies> && ...);

template <template <class, class> class Index>
constexpr bool kRunsAloneOnly =
    kRunsUnderAll<Index, None<Native>, Mutex<Native>, RwSpin<Native>, Rtm<Native>, Hle<Native>> &&
    kRunsUnderNone<Index, Adaptive<Native>, Olc<Native>, Seq<Native>, Striped<Native>, Rowex<Native>, Hybrid<Native>> &&
    // An emulated abort undoes cells, and a map has none.
    kRunsUnder<Index, RwSpin<Emulated>> && kRunsUnderNone<Index, Rtm<Emulated>, Hle<Emulated>>;

static_assert(kRunsAloneOnly<StdMap> && kRunsAloneOnly<StdUnordered> && kRunsAloneOnly<AbslFlat>);
static_assert(kRunsUnderAll<Art, Olc<Native>, Adaptive<Native>, Rtm<Emulated>>,
              "an index written with the verbs runs under these policies too");

/// An allocator that counts the allocated bytes, and allocates nothing while memory is out.
u64 live_bytes = 0;
bool memory_is_out = false;
template <class T>
struct Watched {
  using value_type = T;
  Watched() = default;
  template <class U>
  Watched(const Watched<U>&) {}
  T* allocate(std::size_t count) {
    if (memory_is_out) throw std::bad_alloc();
    live_bytes += count * sizeof(T);
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* block, std::size_t count) {
    live_bytes -= count * sizeof(T);
    std::allocator<T>().deallocate(block, count);
  }
  friend bool operator==(const Watched&, const Watched&) { return true; }
};

// The maps of the peers with another allocator.
template <class Map>
using WatchedTree = std::map<typename Map::key_type, u64, typename Map::key_compare, Watched<typename Map::value_type>>;
template <class Map>
using WatchedChains = std::unordered_map<typename Map::key_type, u64, typename Map::hasher, typename Map::key_equal,
                                         Watched<typename Map::value_type>>;
template <class Map>
using WatchedFlat = absl::flat_hash_map<typename Map::key_type, u64, typename Map::hasher, typename Map::key_equal,
                                        Watched<typename Map::value_type>>;

template <class Map>
Map filled(u64 pairs) {
  Map map;
  for (u64 i = 0; i < pairs; ++i) {
    if constexpr (std::is_same_v<typename Map::key_type, u64>) {
      map.try_emplace(i, i);
    } else {
      map.try_emplace(std::to_string(i), i);  // short enough to be stored within the string object
    }
  }
  return map;
}

template <class Key>
void check_bytes() {
  for (const u64 pairs : {1, 100, 10'000}) {
    {
      const auto tree = filled<WatchedTree<OrderedMap<Key>>>(pairs);
      CHECK(live_bytes == tree.size() * StdMap<void, Key>::kNodeBytes);
    }
    {
      const auto chains = filled<WatchedChains<ChainedMap<Key>>>(pairs);
      CHECK(live_bytes == chains.size() * StdUnordered<void, Key>::kNodeBytes +
                              chains.bucket_count() * StdUnordered<void, Key>::kBucketBytes);
    }
    {
      const auto flat = filled<WatchedFlat<FlatMap<Key>>>(pairs);
      const u64 counted = AbslFlat<void, Key>::table_bytes(flat.bucket_count());
      CHECK(counted <= live_bytes);
      CHECK(live_bytes - counted < 8);  // at most the padding up to the alignment of pairs
    }
  }
}

TEST_CASE("Peers: the counted bytes are the allocated bytes") {
  check_bytes<U64Key>();
  check_bytes<BytesKey>();
}

TEST_CASE("Peers: the counted bytes include the heap part of long strings") {
  CHECK(heap_bytes(std::string(15, 'x')) == 0);
  const std::string longer(16, 'x');
  CHECK(heap_bytes(longer) == longer.capacity() + 1);
  CHECK(heap_bytes_of_keys(std::map<std::string, u64>{{longer, 1}, {"short", 2}}) == heap_bytes(longer));
  CHECK(heap_bytes_of_keys(std::map<u64, u64>{{1, 1}}) == 0);
}

template <class Body>
void check_memory_out() {
  struct {
  } tx;
  Body body;
  REQUIRE(*body.put_in(tx, U64Key(1), SetTo(10), Put::kInsert));
  memory_is_out = true;
  for (const Put how : {Put::kInsert, Put::kUpsert}) {
    const Attempt<bool> refused = body.put_in(tx, U64Key(2), SetTo(20), how);
    CHECK_FALSE(refused);
    CHECK(refused.failure() == kNoMemory);
  }
  CHECK(*body.put_in(tx, U64Key(1), SetTo(11), Put::kUpdate));
  memory_is_out = false;
  u64 pairs = 0;
  body.for_each([&](u64 key, u64 value) { pairs += key == 1 && value == 11 ? 1 : 100; });
  CHECK(pairs == 1);
  CHECK(*body.put_in(tx, U64Key(2), SetTo(20), Put::kInsert));
}

TEST_CASE("Peers: a failed allocation changes nothing") {
  check_memory_out<MapBody<U64Key, WatchedTree<OrderedMap<U64Key>>>>();
  check_memory_out<MapBody<U64Key, WatchedChains<ChainedMap<U64Key>>>>();
}

TEST_CASE("Peers: the list of indexes shows every library with its version") {
  Registry registry;
  register_all(registry);
  const std::string list = list_text(registry, "indexes");
  for (const Pair& pair : registry.pairs()) {
    if (pair.library.empty()) continue;
    INFO(pair.index << " of " << pair.library);
    const std::size_t at = list.find("\n  " + pair.index + " ");
    REQUIRE(at != std::string::npos);
    const std::string line = list.substr(at + 1, list.find('\n', at + 1) - at - 1);
    INFO(line);
    const std::size_t name = line.find(", " + pair.library + " ");
    REQUIRE(name != std::string::npos);
    CHECK(std::string("0123456789").find(line[name + pair.library.size() + 3]) != std::string::npos);
  }
}

}  // namespace
}  // namespace latchlab::testing
