#pragma once

// What share of the operations is of which kind. `--workload` says it:
//
//   lookup                                     reads only
//   insert                                     every record once into an empty index
//   mix:read=90,insert=5,erase=5               percent, with decimals; they must sum to 100
//   mix:read=95,scan=5,scan_length=50          a scan starts at a record's key, asks for 50 pairs (or 100), or
//                                              for 1 to 50 alike: scan_length=1-50
//   mix:multi_get=95,update=5,multi_get_keys=8 a multi-get looks up 8 keys (or 16) in one call, each drawn as a read's
//   ycsb-a ... ycsb-f                          YCSB's (Cooper et al., SoCC 2010), each with its usual distribution:
//                                              read=50,update=50; read=95,update=5; reads; read=95,insert=5 by age;
//                                              scan=95,insert=5,scan_length=1-100; read=50,rmw=50
//
// and `--negative=0.1` makes that share of the reads look for keys that no record has.
//
// Shares are kept in parts per million and are met exactly, not on average: before() says how many
// operations of a kind precede each block of 256. So the ordinal of an operation among its kind is known
// without counting, which is what lets every insert of a stream address a record of its own (mix_stream.h).

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/base/spec.h"
#include "src/base/types.h"
#include "workloads/op.h"

namespace latchlab {

class Mix {
 public:
  static constexpr u32 kMillion = 1'000'000;

  /// The kinds that a stream schedules: those of OpKind, then reads of absent keys.
  static constexpr std::size_t kScheduled = kOpKinds + 1;
  static constexpr std::size_t kAbsentRead = kOpKinds;

  /// `negative` in [0, 1]: of the reads; without reads it says nothing. Throws InputError for an unknown workload or
  /// kind, and shares that are negative, not a number, below 0.0001 % yet not 0, or do not sum to 100 (within 1e-9).
  Mix(const Spec& spec, double negative);

  /// Of operations that were counted, by OpKind, one of them at least. What there is of a kind has a part in a million
  /// at least.
  [[nodiscard]] static Mix of(const std::array<u64, kOpKinds>& counts);

  /// Is this `insert`: a run that starts on an empty index and ends when every record is in it?
  [[nodiscard]] bool fills() const { return fills_; }

  /// Parts per million of the operations; reads include those of absent keys.
  [[nodiscard]] u32 ppm(OpKind kind) const;
  [[nodiscard]] u32 absent_read_ppm() const { return ppm_[kAbsentRead]; }

  /// Whether `name` is that of a mix: lookup, insert, mix, ycsb-a to ycsb-f.
  [[nodiscard]] static bool knows(std::string_view name);
  /// What an unknown workload is answered with: that there are mixes, `also` with names of their own, and which one is
  /// meant.
  [[nodiscard]] static InputError unknown(std::string_view name, const std::vector<std::string>& also);

  /// Does any operation take its key from the distribution (mix_stream.h)?
  [[nodiscard]] bool draws_keys() const { return ppm_[kInsert] + ppm_[kErase] < kMillion; }

  /// Does any operation of this kind occur?
  [[nodiscard]] bool has(OpKind kind) const { return ppm(kind) > 0; }
  /// Does any operation change the index?
  [[nodiscard]] bool changes() const;

  /// Pairs that a scan asks for: uniform from the shortest to the longest, by a random word.
  [[nodiscard]] u16 scan_length(u64 word) const {
    return static_cast<u16>(shortest_scan_ + bounded(word, u64{longest_scan_} - shortest_scan_ + 1));
  }

  /// Keys that a multi-get looks up, 1 to kMostInAttempt.
  [[nodiscard]] u16 multi_get_keys() const { return multi_get_keys_; }
  /// The most keys that one operation of the mix looks up in one call.
  [[nodiscard]] u16 most_keys() const { return has(OpKind::kMultiGet) ? multi_get_keys_ : u16{1}; }

  /// The distribution that belongs to the workload's name; empty where none does.
  [[nodiscard]] std::string_view usual_distribution() const { return usual_distribution_; }

  /// The kinds that occur with their shares in [0, 1], in the order of OpKind, for a result.
  [[nodiscard]] std::vector<std::pair<std::string, double>> shares() const;

  static constexpr u64 kBlock = 256;

  /// How many operations of a scheduled kind come before block b (the first b * kBlock operations). The
  /// commonest kind takes what the rounding of the others leaves.
  [[nodiscard]] u64 before(u64 block, std::size_t scheduled) const;

  /// Is every operation of one scheduled kind? Returns it, or kScheduled.
  [[nodiscard]] std::size_t only() const;

 private:
  static constexpr std::size_t kInsert = static_cast<std::size_t>(OpKind::kInsert);
  static constexpr std::size_t kErase = static_cast<std::size_t>(OpKind::kErase);

  Mix() = default;
  void settle();
  void read_shares(const Spec& spec);
  void read_scan_length(const std::string& text);
  void read_multi_get_keys(const std::string& text);

  std::array<u32, kScheduled> ppm_ = {};
  std::size_t commonest_ = 0;
  u16 shortest_scan_ = 100;
  u16 longest_scan_ = 100;
  u16 multi_get_keys_ = 16;
  std::string_view usual_distribution_;
  bool fills_ = false;
};

}  // namespace latchlab
