#pragma once
// The options of `cuckoo`.
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
  u64 most_slots = 0;  ///< limit of the number of slots; 0: no limit but memory
  u64 seed = 0;        ///< seed of the hash functions; secret from an adversary that could choose colliding keys

  /// Parses a spec such as cuckoo:most_slots=1000000,seed=7. Throws InputError.
  static Options parse(const Spec& spec) {
    SpecReader reader(spec, "index cuckoo");
    Options options;
    options.most_slots = reader.number("most_slots", 0, 0, u64{1} << 34);
    options.seed = reader.number("seed", 0, 0, ~u64{0});
    reader.finish();
    if (options.most_slots != 0) options.most_slots = u64{kSlots} << options.most_bits();
    return options;
  }
  /// Returns the number of bits of the bucket numbers. The number of buckets is the largest power of two with at most
  /// most_slots slots, and at least 2.
  u32 most_bits() const { return std::max(static_cast<u32>(std::bit_width(most_slots / kSlots)), 2u) - 1; }
  std::vector<std::pair<std::string, std::string>> resolved() const {
    return {{"most_slots", std::to_string(most_slots)}, {"seed", std::to_string(seed)}};
  }
  u64 most_keys() const { return most_slots == 0 ? ~u64{0} : most_slots; }
  static std::vector<std::string> variants() { return {"cuckoo:seed=1234567891011121314"}; }
  static std::string_view about(std::string_view key) {
    if (key == "most_slots") {
      return "the table is full with so many slots (7 x a power of two, rounded down, at least 14); 0: no limit";
    }
    return "seed of the hash functions: nobody can choose keys that collide without knowing it";
  }
};

}  // namespace latchlab::cuckoo
