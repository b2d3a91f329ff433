#pragma once

// The stream of a mix (mix.h).
//
// Which record an operation addresses, with R loaded records and E, I the erases and inserts scheduled
// before it:
//
//        numbers   0 ....... E ........................ E+R ........ R+I ..
//                  | erased  |  reads, updates, scans   |            | the next insert
//                            ^ the next erase
//
//   insert         record R + (its ordinal among the inserts): each addresses a record that is not there
//   erase          record (its ordinal among the erases): the oldest, so dense keys move on as a window
//   read, update,  slot s from the distribution over R slots, then the record congruent to s modulo R in
//   upsert, scan   the window [E, E + R): without erases simply record s. When a record goes, its successor R
//                  numbers further inherits its slot, and so its popularity: skew stays what was asked for
//   multi-get      as many such records as it has keys, from draws of their own
//   absent read    the absent key with the number of such a record
//
// Under a distribution by age (latest) slot 0 is not record 0 but the newest that was inserted before kLatestLag
// operations, slot 1 the one before, and so on. So what a read addresses has mostly been inserted, although other
// threads hold the operations just before it; those that come too early nevertheless are misses, and so are the oldest
// where records are erased.
//
// So a mix with as many inserts as erases stays at R records for ever, and inserts insert, erases erase and
// reads hit, but for these, which the tally counts and the checks expect:
//   - operations overtake each other, between threads and within a block of 256, so that those at the edges of the
//     window may come early or late: share / R of the 256 and of what is under way, which the harness keeps
//     below R / 16 where threads keep their processors (harness/trial/dealer.h). An erase that comes before the insert
//     of its record leaves it behind, and so does one before an upsert. That it does not stay for ever, numbers go
//     round: in such a mix n means record n mod 2^k, 2^k >= 2 R, so that the next erase of its number takes it away;
//   - a mix that erases more than it inserts runs dry: what is addressed is gone, then erases fail as well;
//   - keys that end (lines of a file, u32, even strides) go round: when all C are used, number n means record n mod C.
//     Inserts insert as long as R + I - E <= C: load fewer records than there are keys.
//
// The kinds of a block of 256 operations are a permutation of the exact counts that Mix::before gives
// (mix.h).
//
// Where a stream follows others (phased_stream.h), E counts what those erased, too, and R is what they left: slots of
// as many records are those of the stream before.
//
// `insert` (Mix::fills) is the stream of size() = R operations in which number i inserts record pi(i), pi a
// permutation from the seed: every record once. MixStream::loading is the same for loading before any other
// workload, in the same order.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "src/base/rng.h"
#include "src/base/types.h"
#include "workloads/bijection.h"
#include "workloads/distribution.h"
#include "workloads/keys.h"
#include "workloads/mix.h"
#include "workloads/op.h"
#include "workloads/stream.h"

namespace latchlab {

/// Constant once built.
class MixStream final : public Stream {
 public:
  static constexpr u64 kLatestLag = 65'536;  ///< operations; a multiple of Mix::kBlock

  /// The records that there are as a stream begins, if others were there before: `gone` to gone + records - 1.
  struct Window {
    u64 gone;
    u64 records;
  };

  /// `keys` must outlive the stream. Throws InputError unless 1 <= records <= min(keys.capacity(),
  /// Ranks::kMost). O(log records).
  MixStream(u64 seed, u64 phase, const KeySet& keys, const Distribution& distribution, const Mix& mix, u64 records,
            const Churn& churn = {})
      : MixStream(seed, phase, keys, distribution, mix, Window{0, records}, churn, mask_of(records, keys, mix)) {}

  /// One of several streams one after the other, which is why its numbers do not go round: others address them, too.
  MixStream(u64 seed, u64 phase, const KeySet& keys, const Distribution& distribution, const Mix& mix, Window window,
            const Churn& churn)
      : MixStream(seed, phase, keys, distribution, mix, window, churn, ~u64{0}) {}

  /// The operations that load `records` records: inserts, each once.
  [[nodiscard]] static MixStream loading(u64 seed, const KeySet& keys, u64 records);

  /// The records of a stream that fills an index, else no end.
  [[nodiscard]] u64 size() const override { return fills_ ? records_ : kEndless; }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override;
  [[nodiscard]] std::optional<Op> alike() const override { return keys().bytes() ? std::nullopt : only(); }
  void fill_keys(u64 first, std::span<u64> keys) const override;
  [[nodiscard]] bool addresses_new() const override { return popularity_.by_age() && mix_.has(OpKind::kInsert); }
  /// An upsert of a record that is new may come before its insert.
  [[nodiscard]] bool inserts_may_hit() const override { return addresses_new() && mix_.has(OpKind::kUpsert); }

  [[nodiscard]] u32 most_keys() const override { return mix_.most_keys(); }

  [[nodiscard]] u64 records() const { return records_; }
  [[nodiscard]] const Popularity& popularity() const { return popularity_; }

 private:
  MixStream(u64 seed, u64 phase, const KeySet& keys, const Distribution& distribution, const Mix& mix, Window window,
            const Churn& churn, u64 number_mask);
  static u64 mask_of(u64 records, const KeySet& keys, const Mix& mix);

  /// The first record of those that are congruent to slots 0 to R - 1, where so many are gone.
  [[nodiscard]] u64 turn_of(u64 gone) const { return gone / records_ * records_; }

  /// What all operations are but for their keys, whatever those are.
  [[nodiscard]] std::optional<Op> only() const;
  /// The records of such operations, Ranks::kBatch at most.
  void fill_records(u64 first, std::span<u64> records) const;
  void fill_block(u64 block, std::span<Op, Mix::kBlock> ops) const;
  void fill_gets(u64 block, std::span<const Op> ops, std::size_t from, std::size_t to, std::vector<Op>& gets) const;
  class Records;

  Mix mix_;
  u64 gone_;
  u64 records_;
  bool fills_;
  u64 number_mask_;  // of a mix whose numbers go round; else all ones
  Popularity popularity_;
  Bijection insert_order_;
  Draws slots_;
  Draws schedules_;
  Draws scan_lengths_;
  Draws gets_;
};

/// Why a mix under a distribution cannot have such churn; empty if it can. `words`: of the distribution.
[[nodiscard]] std::string why_no_churn(const Churn& churn, const Distribution& distribution, std::string_view words,
                                       const Mix& mix);

}  // namespace latchlab
