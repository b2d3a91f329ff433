#pragma once
// `striped:N`: olc with its versions in a table of N stripes instead of the nodes (latch_places.h).
#include <string>
#include <utility>
#include <vector>

#include "src/base/spec.h"
#include "sync/layout.h"
#include "sync/optimistic.h"

namespace latchlab {

struct StripedOptions {
  u64 stripes = 1024;  ///< the number after the colon, 1 to 1,048,576; each stripe has a line of its own

  /// Parses a spec. Throws InputError for a number out of range, or for an option.
  static StripedOptions parse(const Spec& spec);
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// Returns the meaning of an option, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

/// The common part of `striped` and `seq`: the table, and the policy that uses it.
template <class M, class Bugs>
class OverStripes : private Stripes<M>, public Optimistic<UnlatchedLayout<M, Bugs>, LatchInStripe<M>> {
 protected:
  explicit OverStripes(u64 stripes)
      : Stripes<M>(stripes), Optimistic<UnlatchedLayout<M, Bugs>, LatchInStripe<M>>(LatchInStripe<M>(*this)) {}

 public:
  OverStripes(const OverStripes&) = delete;  // transactions hold its address
  OverStripes& operator=(const OverStripes&) = delete;
};

template <class M, class Bugs = NoBugs>
class Striped : public OverStripes<M, Bugs> {
 public:
  static constexpr std::string_view kName = "striped";
  static constexpr std::string_view kAbout = "optimistic: the versions are in a table outside the nodes";
  using Options = StripedOptions;

  explicit Striped(const Options& options) : OverStripes<M, Bugs>(options.stripes) {}
};

}  // namespace latchlab
