#pragma once
// What there is to choose of `simdht`.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "indexes/simdht/kernels.h"
#include "src/base/key.h"
#include "src/base/spec.h"

namespace latchlab::simdht {

/// The widest that this processor has.
Isa best_isa();

struct Options {
  static constexpr MeantBy kMeantBy{.index = "cuckoo", .option = "shape"};

  Shape shape;
  Isa isa = best_isa();
  Kernel kernel = Kernel::kHorizontal;
  u64 slots = 0;  ///< to begin with, at least

  /// simdht:shape=2x4,key=64,value=64,isa=avx2,kernel=horizontal,slots=1000. Throws InputError for a word that there is
  /// none of, Contradiction for widths that are not in the grid together and for a kernel that nobody wrote.
  static Options parse(const Spec& spec);
  /// What is asked for, as far as a processor whose widest is `best` has it.
  std::pair<Isa, Kernel> in_effect(Isa best = best_isa()) const;
  /// Why that is not what was asked for, if so.
  std::optional<std::string> degraded(Isa best = best_isa()) const;
  std::vector<std::pair<std::string, std::string>> resolved() const;
  u64 least_bytes() const { return slots * (shape.key_bits + shape.value_bits) / 8; }
  /// Every shape.
  static std::vector<std::string> variants();
  Widths widths() const { return {.key = shape.key_bits, .value = shape.value_bits}; }
  static std::string_view about(std::string_view key);
};

}  // namespace latchlab::simdht
