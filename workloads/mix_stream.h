#pragma once

// The stream of a mix (mix.h).
//
// The record that an operation addresses, with R loaded records and E, I the numbers of erases and inserts scheduled
// before it:
//
//        numbers   0 ....... E ........................ E+R ........ R+I ..
//                  | erased  |  reads, updates, scans   |            | the next insert
//                            ^ the next erase
//
//   insert         record R + (its ordinal among the inserts): each addresses an absent record
//   erase          record (its ordinal among the erases): the oldest, so dense keys move on as a window
//   read, update,  slot s from the distribution over R slots, then the record congruent to s modulo R in the window
//   upsert, scan,  [E, E + R): without erases simply record s. When a record is erased, its successor R numbers further
//   rmw, modify    inherits its slot, and so its popularity: the skew stays as requested
//   multi-get      as many such records as it has keys, each from a draw of its own
//   absent read    the absent key with the number of such a record
//
// Under a distribution by age (latest) slot 0 is the newest record that was inserted at least kLatestLag operations
// ago. Slot 1 is the one before it, and so on. So a read mostly addresses an inserted record, although other threads
// hold the operations just before it. Reads that come too early are misses, and so are reads of the oldest records
// where records are erased.
//
// So a mix with as many inserts as erases stays at R records for ever. Inserts insert, erases erase and reads hit, with
// three exceptions, which the tally counts and the checks expect:
//   1. Operations overtake each other, between threads and within a block of 256. So those at the edges of the window
//      may come early or late: share / R of the 256 and of the operations in progress. The harness keeps the latter
//      below R / 16 while threads keep their processors (harness/trial/dealer.h). An erase that comes before the insert
//      of its record leaves it behind, and so does an erase before an upsert. Such a record does not stay for ever,
//      since numbers wrap around in such a mix: n means record n mod 2^k, 2^k >= 2 R. So the next erase of its number
//      removes it.
//   2. A mix that erases more than it inserts runs dry: the addressed records are gone, and then erases fail as well.
//   3. Finite keys (lines of a file, u32, even strides) wrap around: when all C are used, number n means record n mod
//      C. Inserts insert as long as R + I - E <= C, so load fewer records than there are keys.
//
// The kinds of a block of 256 operations are a permutation of the exact counts that Mix::before gives (mix.h).
//
// Where a stream follows others (phased_stream.h), E includes the erases of those, and R is the number of records that
// they left. If that number is the same, slots are those of the stream before.
//
// `insert` (Mix::fills) is the stream of size() = R operations in which operation i inserts record pi(i), pi a
// permutation from the seed: every record once. MixStream::loading is the same stream, for loading before any other
// workload.

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

/// The stream of a mix. It is constant once built.
class MixStream final : public Stream {
 public:
  static constexpr u64 kLatestLag = 65'536;  ///< operations; a multiple of Mix::kBlock

  /// The records that are present when a stream begins, if others were there before: `gone` to gone + records - 1.
  struct Window {
    u64 gone;
    u64 records;
  };

  /// Makes a stream. `keys` must outlive it. Throws InputError unless 1 <= records <= min(keys.capacity(),
  /// Ranks::kMost). O(log records).
  MixStream(u64 seed, u64 phase, const KeySet& keys, const Distribution& distribution, const Mix& mix, u64 records,
            const Churn& churn = {})
      : MixStream(seed, phase, keys, distribution, mix, Window{0, records}, churn, mask_of(records, keys, mix)) {}

  /// Makes one of several streams in a row. Its numbers do not wrap around, since the other streams address them too.
  MixStream(u64 seed, u64 phase, const KeySet& keys, const Distribution& distribution, const Mix& mix, Window window,
            const Churn& churn)
      : MixStream(seed, phase, keys, distribution, mix, window, churn, ~u64{0}) {}

  /// Returns the operations that load `records` records: an insert of each.
  [[nodiscard]] static MixStream loading(u64 seed, const KeySet& keys, u64 records);

  /// Returns the number of records for a stream that fills an index, else kEndless.
  [[nodiscard]] u64 size() const override { return fills_ ? records_ : kEndless; }
  void fill(u64 first, std::span<Op> ops, std::vector<Op>& gets) const override;
  [[nodiscard]] std::optional<Op> alike() const override { return keys().bytes() ? std::nullopt : only(); }
  void fill_keys(u64 first, std::span<u64> keys) const override;
  [[nodiscard]] bool addresses_new() const override { return popularity_.by_age() && mix_.has(OpKind::kInsert); }
  /// Returns true if an insert may hit: an upsert of a new record may come before its insert.
  [[nodiscard]] bool inserts_may_hit() const override { return addresses_new() && mix_.has(OpKind::kUpsert); }

  [[nodiscard]] u32 most_keys() const override { return mix_.most_keys(); }

  [[nodiscard]] u64 records() const { return records_; }
  [[nodiscard]] const Popularity& popularity() const { return popularity_; }

 private:
  MixStream(u64 seed, u64 phase, const KeySet& keys, const Distribution& distribution, const Mix& mix, Window window,
            const Churn& churn, u64 number_mask);
  static u64 mask_of(u64 records, const KeySet& keys, const Mix& mix);

  /// Returns the first of the records congruent to slots 0 to R - 1, when `gone` records are gone.
  [[nodiscard]] u64 turn_of(u64 gone) const { return gone / records_ * records_; }

  /// Returns the operation that all operations equal except for their keys, if there is one; for keys of any kind.
  [[nodiscard]] std::optional<Op> only() const;
  /// Draws the records of such operations, at most Ranks::kBatch.
  void fill_records(u64 first, std::span<u64> records) const;
  void fill_block(u64 block, std::span<Op, Mix::kBlock> ops) const;
  void fill_gets(u64 block, std::span<const Op> ops, std::size_t from, std::size_t to, std::vector<Op>& gets) const;
  class Records;

  Mix mix_;
  u64 gone_;
  u64 records_;
  bool fills_;
  u64 number_mask_;  // of a mix with numbers that wrap around; else all ones
  Popularity popularity_;
  Bijection insert_order_;
  Draws slots_;
  Draws schedules_;
  Draws scan_lengths_;
  Draws gets_;
};

/// Returns why a mix under a distribution cannot have this churn; empty if it can. `words` name the distribution.
[[nodiscard]] std::string why_no_churn(const Churn& churn, const Distribution& distribution, std::string_view words,
                                       const Mix& mix);

}  // namespace latchlab
