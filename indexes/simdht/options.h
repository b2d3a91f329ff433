#pragma once
// The options of `simdht`.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "indexes/simdht/kernels.h"
#include "src/base/key.h"
#include "src/base/spec.h"

namespace latchlab::simdht {

/// Returns the widest instruction set of this processor.
Isa best_isa();

struct Options {
  static constexpr MeantBy kMeantBy{.index = "cuckoo", .option = "shape"};

  Shape shape;
  Isa isa = best_isa();
  Kernel kernel = Kernel::kHorizontal;
  u64 slots = 0;  ///< least number of slots at the start

  /// Parses a spec such as simdht:shape=2x4,key=64,value=64,isa=avx2,kernel=horizontal,slots=1000. Throws InputError
  /// for an unknown word. Throws Contradiction for widths that the grid does not combine and for a kernel that does not
  /// exist.
  static Options parse(const Spec& spec);
  /// Returns the requested instruction set and kernel, or the nearest ones that a processor with `best` can run.
  std::pair<Isa, Kernel> in_effect(Isa best = best_isa()) const;
  /// Returns why in_effect() differs from the request, if it does.
  std::optional<std::string> degraded(Isa best = best_isa()) const;
  std::vector<std::pair<std::string, std::string>> resolved() const;
  u64 least_bytes() const { return slots * (shape.key_bits + shape.value_bits) / 8; }
  /// Returns a spec for every shape.
  static std::vector<std::string> variants();
  Widths widths() const { return {.key = shape.key_bits, .value = shape.value_bits}; }
  static std::string_view about(std::string_view key);
};

}  // namespace latchlab::simdht
