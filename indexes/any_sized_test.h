#pragma once
// Indexes of sized values whose type is erased (erased_sized.h), for the tests of all of them: under policies of every
// class of transactions, with a plan of failures.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "indexes/art/art.h"
#include "indexes/chained/chained.h"
#include "indexes/cuckoo/cuckoo.h"
#include "indexes/erased_sized.h"
#include "src/machine/emulated.h"
#include "src/machine/native.h"
#include "src/memory/failure_plan.h"
#include "src/testing/catch.h"
#include "sync/none.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/spin.h"
#include "sync/synchronized.h"

namespace latchlab::testing::any_sized {

using Alloc = MemoryConfig::Alloc;

inline ByteSpan bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
inline std::string text_in(ByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
/// Returns a text of `size` bytes that a number determines.
inline std::string text_of(u64 size, u64 number) {
  std::string text(size, '\0');
  for (u64 i = 0; i < size; ++i) text[i] = static_cast<char>(number * 31 + i);
  return text;
}
inline constexpr u64 kLengths[] = {0, 1, 7, 8, 9, 24, 40, 100, 1000, 5000, 70'000};

using AnyIndex = ErasedSized<u64>;
using AnySession = AnyIndex::Session;

struct Subject {
  std::string name;
  bool shared;  // several threads may change it
  std::function<std::unique_ptr<AnyIndex>(const MemoryConfig&)> make;
};
template <template <class, class> class Index, class Policy>
Subject subject(bool shared = true) {
  std::string name(Index<typename Policy::Layout, U64Key>::kName);
  name.append(" under ").append(Policy::kName).append(" on ").append(Policy::Machine::kName);
  return {name, shared,
          [spec = Spec::parse(std::string(Policy::kName))](const MemoryConfig& memory) -> std::unique_ptr<AnyIndex> {
            return std::make_unique<ErasedSizedOf<Synchronized<Index, Policy, U64Key>>>(memory, spec, memory);
          }};
}
inline std::vector<Subject> subjects() {
  return {subject<Art, Spin<Native>>(),     subject<Art, Olc<Native>>(),      subject<Art, Rtm<Emulated>>(),
          subject<Cuckoo, Spin<Native>>(),  subject<Cuckoo, Olc<Native>>(),   subject<Cuckoo, Rtm<Emulated>>(),
          subject<Chained, Spin<Native>>(), subject<Chained, Olc<Native>>(),  subject<Chained, Rtm<Emulated>>(),
          subject<Art, Rtm<Native>>(),      subject<Art, None<Native>>(false)};
}

/// An index of a subject, with its plan of failures.
struct Indexed {
  FailurePlan plan;
  MemoryBudget limit{u64{1} << 40};  // for its count of bytes
  std::unique_ptr<AnyIndex> index;

  explicit Indexed(const Subject& subject, Alloc alloc = Alloc::kArena, Reclaim reclaim = Reclaim::kEpoch)
      : index(subject.make({.alloc = alloc, .reclaim = reclaim, .limit = limit, .fail = &plan})) {}
  AnyIndex* operator->() { return index.get(); }
  /// Returns the live bytes of the values after the last session has ended.
  u64 live_after_all() {
    index->join();
    return index->bytes().values.live;
  }
};

inline std::optional<std::string> found(AnySession& me, u64 key) {
  std::optional<std::string> text;
  const bool present = me.find(key, [&](ByteSpan value) { text = text_in(value); });
  REQUIRE(present == text.has_value());
  return text;
}

}  // namespace latchlab::testing::any_sized
