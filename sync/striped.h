#pragma once
// `striped:N`: olc whose versions are in a table of N beside the nodes (latch_places.h).
#include <string>
#include <utility>
#include <vector>

#include "src/base/spec.h"
#include "sync/layout.h"
#include "sync/optimistic.h"

namespace latchlab {

struct StripedOptions {
  u64 stripes = 1024;  ///< 1 to 1,048,576, a line each; the number after the colon

  /// Throws InputError for a number out of range, or an option.
  static StripedOptions parse(const Spec& spec);
  std::vector<std::pair<std::string, std::string>> resolved() const;
  /// The meaning of one, for `harness list`; empty for an unknown word.
  static std::string about(std::string_view key);
};

/// The table and the policy over it, by whatever name.
template <class M, class Bugs>
class OverStripes : private Stripes<M>, public Optimistic<UnlatchedLayout<M, Bugs>, LatchInStripe<M>> {
 protected:
  explicit OverStripes(u64 stripes)
      : Stripes<M>(stripes), Optimistic<UnlatchedLayout<M, Bugs>, LatchInStripe<M>>(LatchInStripe<M>(*this)) {}

 public:
  OverStripes(const OverStripes&) = delete;  // transactions know where it is
  OverStripes& operator=(const OverStripes&) = delete;
};

template <class M, class Bugs = NoBugs>
class Striped : public OverStripes<M, Bugs> {
 public:
  static constexpr std::string_view kName = "striped";
  static constexpr std::string_view kAbout = "optimistic: the versions are in a table beside the nodes";
  using Options = StripedOptions;

  explicit Striped(const Options& options) : OverStripes<M, Bugs>(options.stripes) {}
};

}  // namespace latchlab
