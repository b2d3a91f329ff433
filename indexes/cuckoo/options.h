#pragma once
// What there is to choose of `cuckoo`.
#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "indexes/cuckoo/bucket.h"
#include "src/base/spec.h"

namespace latchlab::cuckoo {

struct Options {
  u64 most_slots = 0;  ///< 0: as many as there is memory for
  u64 seed = 0;        ///< of the hash functions. Who is not to know which keys collide must not know it

  /// cuckoo:most_slots=1000000,seed=7. Throws InputError.
  static Options parse(const Spec& spec) {
    SpecReader reader(spec, "index cuckoo");
    Options options;
    options.most_slots = reader.number("most_slots", 0, 0, u64{1} << 34);
    options.seed = reader.number("seed", 0, 0, ~u64{0});
    reader.finish();
    if (options.most_slots != 0) options.most_slots = u64{kSlots} << options.most_bits();
    return options;
  }
  /// Buckets come in powers of two: the largest that has no more slots than were asked for, and at least two.
  u32 most_bits() const { return std::max(static_cast<u32>(std::bit_width(most_slots / kSlots)), 2u) - 1; }
  std::vector<std::pair<std::string, std::string>> resolved() const {
    return {{"most_slots", std::to_string(most_slots)}, {"seed", std::to_string(seed)}};
  }
  u64 most_keys() const { return most_slots == 0 ? ~u64{0} : most_slots; }
  static std::vector<std::string> variants() { return {"cuckoo:seed=1234567891011121314"}; }
  static std::string_view about(std::string_view key) {
    if (key == "most_slots") {
      return "grows to so many slots (7 x a power of two, rounded down, at least 14) and is full then; 0: no limit";
    }
    return "of the hash functions: who does not know it cannot make keys that collide";
  }
};

}  // namespace latchlab::cuckoo
