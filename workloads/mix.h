#pragma once

// The shares of the kinds of operations, as `--workload` says:
//
//   lookup                                     reads only
//   insert                                     every record once into an empty index
//   mix:read=90,insert=5,erase=5               percent, with decimals; they must sum to 100
//   mix:read=95,scan=5,scan_length=50          a scan starts at a record's key, and asks for 50 pairs (100 by default),
//                                              or for a uniform number of them: scan_length=1-50
//   mix:multi_get=95,update=5,multi_get_keys=8 a multi-get looks up 8 keys (16 by default) in one call, each drawn like
//                                              that of a read
//   mix:read=50,modify=50                      a modify reads a value and stores another in one step. rmw is two: a
//                                              lookup, then an update
//   mix:read=50,increment=50                   an increment is a modify that stores the value plus one
//   ycsb-a ... ycsb-f                          YCSB's workloads (Cooper et al., SoCC 2010), each with its usual
//                                              distribution: read=50,update=50; read=95,update=5; reads;
//                                              read=95,insert=5 by age; scan=95,insert=5,scan_length=1-100;
//                                              read=50,rmw=50
//
// `--negative=0.1` makes that share of the reads look up keys that no record has.
//
// Shares are in parts per million, and are met exactly, not on average. before() returns the number of operations of a
// kind before each block of 256. So the ordinal of an operation among its kind is known without counting. This lets
// every insert of a stream address a record of its own (mix_stream.h).

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

  /// The number of kinds that a stream schedules: those of OpKind, then reads of absent keys.
  static constexpr std::size_t kScheduled = kOpKinds + 1;
  static constexpr std::size_t kAbsentRead = kOpKinds;

  /// Parses a spec. `negative` in [0, 1] is a share of the reads; it has no effect without reads. Throws InputError for
  /// an unknown workload or kind, and for shares that are negative, not a number, or below 0.0001 % yet not 0. Also
  /// throws if they do not sum to 100 (within 1e-9).
  Mix(const Spec& spec, double negative);

  /// Returns the mix of counted operations, by OpKind; at least one count must be positive. Every kind with a count
  /// gets at least one part in a million.
  [[nodiscard]] static Mix of(const std::array<u64, kOpKinds>& counts);

  /// Returns true for `insert`: a run that starts on an empty index and ends when every record is in it.
  [[nodiscard]] bool fills() const { return fills_; }

  /// Returns parts per million of the operations; reads include those of absent keys.
  [[nodiscard]] u32 ppm(OpKind kind) const;
  [[nodiscard]] u32 absent_read_ppm() const { return ppm_[kAbsentRead]; }

  /// Returns true if `name` is the name of a mix: lookup, insert, mix, ycsb-a to ycsb-f.
  [[nodiscard]] static bool knows(std::string_view name);
  /// Returns the error for an unknown workload. It lists the mixes and the names in `also`, and suggests the nearest.
  [[nodiscard]] static InputError unknown(std::string_view name, const std::vector<std::string>& also);

  /// Returns true if any operation takes its key from the distribution (mix_stream.h).
  [[nodiscard]] bool draws_keys() const { return ppm_[kInsert] + ppm_[kErase] < kMillion; }

  /// Returns true if any operation of this kind occurs.
  [[nodiscard]] bool has(OpKind kind) const { return ppm(kind) > 0; }
  /// Returns true if any operation changes the index.
  [[nodiscard]] bool changes() const;

  /// Returns the number of pairs that a scan asks for: uniform from the shortest to the longest, by a random word.
  [[nodiscard]] u16 scan_length(u64 word) const {
    return static_cast<u16>(shortest_scan_ + bounded(word, u64{longest_scan_} - shortest_scan_ + 1));
  }

  /// Returns the number of keys that a multi-get looks up, 1 to kMostInCall.
  [[nodiscard]] u16 multi_get_keys() const { return multi_get_keys_; }
  /// Returns the largest number of keys that one operation of the mix looks up in one call.
  [[nodiscard]] u16 most_keys() const { return has(OpKind::kMultiGet) ? multi_get_keys_ : u16{1}; }

  /// Returns the distribution that belongs to the workload's name; empty if none does.
  [[nodiscard]] std::string_view usual_distribution() const { return usual_distribution_; }

  /// Returns the kinds that occur with their shares in [0, 1], in the order of OpKind, for a result.
  [[nodiscard]] std::vector<std::pair<std::string, double>> shares() const;

  static constexpr u64 kBlock = 256;

  /// Returns the number of operations of a scheduled kind before block b, among the first b * kBlock operations. The
  /// commonest kind absorbs the rounding of the others.
  [[nodiscard]] u64 before(u64 block, std::size_t scheduled) const;

  /// Returns the scheduled kind of all operations, if there is only one, else kScheduled.
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
