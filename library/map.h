#pragma once
// The map that programs take home: an index and a policy of Latchlab behind the operations of a container.
//
//     latchlab::Map<std::string, std::uint64_t> counts;
//     counts.modify("word", [](auto n) { return n ? *n + 1 : 1; });      // from any thread
//     std::optional<std::uint64_t> n = counts.find("word");
//
// Every thread may call every operation at any time (operations.h). Each operation is linearizable by itself, except
// batches, ranges, for_each and size. The map is ordered if its index is: Art is, tables are not.
//
//     Map ------> Members ------> State of a thread: its memory, its place in the reclaimer, its count of pairs
//      |                     \--> State of a Session
//      v
//     Pairs = Synchronized<Index, Policy>           the index with its own keys (sync/synchronized.h)
//           | ByHash<Synchronized<Index, Policy>>   strings over an index of numbers (indexes/by_hash.h)
//     Pairs           values of up to eight bytes, in its cells
//     Sized<Pairs>    other values, in a store (indexes/sized.h)
//
// Threads
//   1. A thread joins at its first call, which takes a mutex, and leaves when it exits (members.h).
//   2. A Session is the same without the look for the thread's state. One thread at a time may use it.
//   3. The map may end before threads that have used it, and after them. It must not end during a call.
//   4. A Session may be destroyed after the map, but not used.
//
// Exceptions: std::bad_alloc if memory is out, IndexFull if the index may not grow, std::length_error for a key of more
// than 128 MiB - 1 bytes or a value of more than 16 MiB, and what f throws. In every case nothing has changed, except
// that an operation whose `before` throws is done.
//
// Fork: the child has a copy of the map as it was. It may use and destroy this copy if at the fork no other thread was
// inside a call of the map. Otherwise a lock of that thread stays held in the copy, and the child must not touch it.
// Memory that other threads had in reserve stays unused in the child until the map ends.
#include <memory>
#include <string_view>
#include <utility>

#include "indexes/art/art.h"
#include "indexes/by_hash.h"
#include "library/keys.h"
#include "library/members.h"
#include "library/operations.h"
#include "library/sized_values.h"
#include "library/values.h"
#include "src/base/spec.h"
#include "src/machine/native.h"
#include "src/memory/memory_config.h"
#include "sync/olc.h"
#include "sync/synchronized.h"

namespace latchlab {

namespace library {

/// An index that declares that it takes numbers only. Its key is U64Key, whatever the map's is.
template <class Index>
concept KeysAreNumbers = requires { requires Index::kKeysAreNumbers; };

/// The index and the policy with these keys, and u64 cells.
template <template <class, class> class Index, class Policy, class Key>
struct PairsOf {
  using Type = Synchronized<Index, Policy, Key>;
};
template <template <class, class> class Index, class Policy>
  requires KeysAreNumbers<Index<typename Policy::Layout, BytesKey>>
struct PairsOf<Index, Policy, BytesKey> {
  using Type = ByHash<Synchronized<Index, Policy, U64Key>>;
};

/// The index of a map, which keeps its values too.
template <class Key, class Kind, template <class, class> class Index, class Policy>
using IndexOf = typename Kind::template Index<typename PairsOf<Index, Policy, typename KeyForms<Key>::Key>::Type>;

template <class Index>
class State final : public Member {
 public:
  explicit State(Index& index) : me(index.join()) {}

  decltype(std::declval<Index&>().join()) me;
};

/// A thread's own access to a map, for loops of many operations. It is moved between threads only between operations.
template <class Key, class Kind, class Index>
class Session : public Operations<Session<Key, Kind, Index>, Index, Key, Kind> {
 public:
  Session(std::shared_ptr<Members> members, Index& index)
      : members_(std::move(members)),
        index_(&index),
        state_(static_cast<State<Index>*>(&members_->add(std::make_unique<State<Index>>(index)))) {}
  Session(Session&& other) noexcept = default;  // leaves `other` without members, so that it does not leave
  Session& operator=(Session&&) = delete;
  ~Session() {
    if (members_ != nullptr) members_->leave(*state_);
  }

 private:
  friend Operations<Session, Index, Key, Kind>;
  friend VectorOperations<Session, Index, Key, Kind>;
  Index& index() const { return *index_; }
  State<Index>& member() const { return *state_; }

  std::shared_ptr<Members> members_;
  Index* index_;
  State<Index>* state_;
};

}  // namespace library

/// A concurrent map. Keys are integers, strings or spans of bytes (keys.h). Values are trivially copyable, std::string,
/// std::vector<std::byte>, or a std::vector of numbers (vectors.h). `IndexTemplate` is an index of Latchlab such as
/// Art, Cuckoo or Chained; `PolicyTemplate` is a policy such as Olc, Rtm or RwSpin.
template <MapKey Key, MapValue MappedValue, template <class Layout, class IndexKey> class IndexTemplate = Art,
          template <class...> class PolicyTemplate = Olc>
class Map : public Operations<
                Map<Key, MappedValue, IndexTemplate, PolicyTemplate>,
                library::IndexOf<Key, typename KindOfValue<MappedValue>::Type, IndexTemplate, PolicyTemplate<Native>>,
                Key, typename KindOfValue<MappedValue>::Type> {
  using Kind = typename KindOfValue<MappedValue>::Type;
  using Policy = PolicyTemplate<Native>;
  using Pairs = typename library::PairsOf<IndexTemplate, Policy, typename KeyForms<Key>::Key>::Type;
  using Index = library::IndexOf<Key, Kind, IndexTemplate, Policy>;
  using State = library::State<Index>;

 public:
  using Session = library::Session<Key, Kind, Index>;
  static constexpr bool kOrdered = Index::kOrdered;  ///< true if there is range, and for_each goes in order

  /// Makes an empty map. Throws std::bad_alloc.
  Map() : Map(Policy::kName) {}
  /// Makes an empty map. `policy` is the spec of the policy, as in "rtm:20"; it begins with the policy's own word.
  /// Throws InputError for a spec that the policy refuses, and std::bad_alloc.
  explicit Map(std::string_view policy, const MemoryConfig& memory = {})
      : index_(Kind::template make<Pairs>(Spec::parse(policy), memory)), members_(std::make_shared<Members>()) {}
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;
  ~Map() { members_->close(); }

  /// Returns a session. Takes a mutex. Throws std::bad_alloc.
  [[nodiscard]] Session join() { return Session(members_, index_); }

  /// Returns the number of pairs. It is exact while no thread changes the map; otherwise changes of the last moments
  /// may be missing. Takes a mutex, O(threads).
  [[nodiscard]] u64 size() const {
    const i64 pairs = members_->count();
    return pairs < 0 ? 0 : static_cast<u64>(pairs);  // an erase may be counted before its insert
  }
  /// Returns the memory of the map beside this object. No other thread may use the map meanwhile.
  [[nodiscard]] Footprint bytes() const { return Kind::bytes(index_); }

 private:
  friend Operations<Map, Index, Key, Kind>;
  friend VectorOperations<Map, Index, Key, Kind>;
  Index& index() const { return index_; }
  [[gnu::always_inline]] State& member() const {
    const RecentMember& recent = recent_members[members_id_ % recent_members.size()];
    if (recent.id == members_id_) [[likely]]
      return static_cast<State&>(*recent.member);
    return joined();
  }
  [[gnu::noinline, gnu::cold]] State& joined() const {
    Member* member = member_of_this_thread(*members_);
    if (member == nullptr) member = &join_this_thread(members_, std::make_unique<State>(index_));
    return static_cast<State&>(*member);
  }

  mutable Index index_;  // a lookup also joins
  const std::shared_ptr<Members> members_;
  const u64 members_id_ = members_->id();
};

}  // namespace latchlab
