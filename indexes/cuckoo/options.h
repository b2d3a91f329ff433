#pragma once
// The options of `cuckoo`.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "src/arch/features.h"
#include "src/base/error.h"
#include "src/base/spec.h"
#include "src/base/words.h"

namespace latchlab::cuckoo {

/// The instructions of a lookup in a bucket of four. The comparisons are of 16 bytes, so AVX2 would not shorten it.
enum class Isa : u8 { kSse42, kAvx512 };
}  // namespace latchlab::cuckoo

namespace latchlab {
template <>
inline constexpr std::array kWords<cuckoo::Isa>{"sse4.2"sv, "avx512"sv};
}  // namespace latchlab

namespace latchlab::cuckoo {

/// The options of a table whose buckets have kSlots slots.
template <u32 kSlots>
struct Options {
  u64 most_slots = 0;  ///< limit of the number of slots; 0: no limit but memory
  u64 seed = 0;        ///< seed of the hash functions; secret from an adversary that could choose colliding keys
  Isa isa = kSlots == 4 ? best_isa() : Isa::kSse42;

  /// Parses a spec such as cuckoo:most_slots=1000000,seed=7. Throws InputError.
  static Options parse(const Spec& spec) {
    SpecReader reader(spec, "index " + spec.name);
    Options options;
    constexpr std::array<std::string_view, 3> kWords{"3", "4", "7"};
    constexpr std::size_t kOwn = kSlots == 3 ? 0 : kSlots == 4 ? 1 : 2;
    // `cuckoo` with another number is another index (MeantBy), unless a table is made by hand.
    if (const std::size_t given = reader.one_of("slots", kOwn, {"3", "4", "7"}); given != kOwn) {
      throw InputError(fmt::format("index {} has slots={}, not {}", spec.name, kWords[kOwn], kWords[given]));
    }
    options.most_slots = reader.number("most_slots", 0, 0, u64{1} << 33);
    options.seed = reader.number("seed", 0, 0, ~u64{0});
    if constexpr (kSlots == 4) options.isa = reader.word("isa", options.isa);
    reader.finish();
    constexpr u32 kFirstBits = kSlots == 7 ? 1 : 2;  // the table begins with so many
    if (options.most_slots != 0) options.most_slots = slots(std::max(options.most_bits(), kFirstBits));
    return options;
  }
  static Isa best_isa() { return cpu_flags().avx512 ? Isa::kAvx512 : Isa::kSse42; }
  /// Returns true if lookups use AVX-512.
  bool avx512() const { return std::min(isa, best_isa()) == Isa::kAvx512; }
  /// Returns why lookups do not use what was asked for, if so.
  std::optional<std::string> degraded() const {
    if (isa <= best_isa()) return std::nullopt;
    return fmt::format("cuckoo runs {} lookups: the processor has no {}", word(Isa::kSse42), word(isa));
  }
  /// Returns the number of slots of 2^bits buckets. A bucket of four has three while there are fewer than 2^16.
  static constexpr u64 slots(u32 bits) { return u64{kSlots == 4 && bits < 16 ? 3 : kSlots} << bits; }
  /// Returns the number of bits of the bucket numbers. The number of buckets is the largest power of two with at most
  /// most_slots slots, and at least 2.
  u32 most_bits() const {
    u32 bits = 1;
    while (slots(bits + 1) <= most_slots) ++bits;
    return bits;
  }
  std::vector<std::pair<std::string, std::string>> resolved() const {
    std::vector<std::pair<std::string, std::string>> all{
        {"slots", std::to_string(kSlots)}, {"most_slots", std::to_string(most_slots)}, {"seed", std::to_string(seed)}};
    if (kSlots == 4) all.emplace_back("isa", word(isa));
    return all;
  }
  static std::vector<std::string> variants() {
    return {kSlots == 4 ? "cuckoo:seed=1234567891011121314,isa=sse4.2"
                        : fmt::format("cuckoo{}:seed=1234567891011121314", kSlots)};
  }
  u64 most_keys() const { return most_slots == 0 ? ~u64{0} : most_slots; }
  static std::string_view about(std::string_view key) {
    if (key == "slots") return "slots of a bucket: 3 or 4 in one line, 7 in two, which takes the least memory";
    if (key == "most_slots")
      return "the table is full with so many slots (slots x a power of two, rounded down); 0: no limit";
    if (key == "isa") return "instructions of lookups with slots=4: sse4.2 or avx512";
    return "seed of the hash functions: nobody can choose keys that collide without knowing it";
  }
};

/// The options of an index that an option of `cuckoo` means.
template <u32 kSlots>
struct OtherOptions : Options<kSlots> {
  static constexpr std::string_view kValue = kSlots == 3 ? "3" : "7";
  static constexpr MeantBy kMeantBy{.index = "cuckoo", .option = "slots", .value = kValue};

  static OtherOptions parse(const Spec& spec) { return {Options<kSlots>::parse(spec)}; }
};

}  // namespace latchlab::cuckoo
