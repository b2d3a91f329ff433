// Makes requests from a stream's operations: their keys, their values, and the required results of reads.
//
// A result is required only if it holds at all moments of the run, in whatever order threads run the operations:
//
//   1. A read, update or modify of a record hits, unless
//        - the workload erases: the record may be gone, or not there yet;
//        - the workload addresses records that were just inserted (Stream::addresses_new);
//        - the index keeps nothing.
//   2. A read of an absent key misses.
//   3. An insert finds its key absent, unless
//        - the workload erases: an upsert may have come before the insert;
//        - the key may be there, in a trace or because upserts address new records (Stream::inserts_may_hit);
//        - there are more operations than keys (lines of a file, u32, even strides), so that keys are used again. A
//          stream that fills an index inserts each record only once.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "harness/loop/request.h"
#include "harness/loop/trial.h"
#include "src/history/recorder.h"
#include "workloads/stream.h"

namespace latchlab {

/// The operations that requests were made from, as Stream::fill leaves them. Empty if all operations of the stream are
/// alike: requests are then made without operations.
struct GeneratedOps {
  std::vector<Op> ops;
  std::vector<Op> gets;
};

class RequestMaker {
 public:
  /// Makes requests of `stream`, which must outlive the maker. `may_be_gone`: the workload erases, or the index keeps
  /// nothing. `value_bits` is 64 or 32. Operation n writes the stamp first_stamp + n. Calls on the keys of `recorded`
  /// are recorded, if it is given.
  RequestMaker(const Stream& stream, bool may_be_gone, u32 value_bits, u64 first_stamp = 0,
               std::optional<KeyShare> recorded = {})
      : stream_(stream),
        may_be_gone_(may_be_gone),
        value_bits_(value_bits),
        first_stamp_(first_stamp),
        recorded_(recorded) {}

  /// Makes the requests of the operations first, first + 1, ... and leaves these operations in `made` unless they are
  /// alike. Appends the keys of multi-gets to `gets`.
  void make(u64 first, std::span<Request> requests, std::vector<Request>& gets, GeneratedOps& made) const;

  /// Returns requests that this maker has made as a slice. `gets` are the keys of the multi-gets among them.
  [[nodiscard]] Slice slice(std::span<const Request> requests, std::span<const Request> gets) const;

  [[nodiscard]] const Stream& stream() const { return stream_; }
  [[nodiscard]] const std::optional<KeyShare>& recorded() const { return recorded_; }

 private:
  /// make() for keys of this type.
  template <class Raw>
  void make_of(u64 first, std::span<Request> requests, std::vector<Request>& gets, GeneratedOps& made) const;
  /// make() for operations that are alike, without an Op for each.
  void make_alike(u64 first, std::span<Request> requests, const Op& op) const;

  const Stream& stream_;
  bool may_be_gone_;
  u32 value_bits_;
  u64 first_stamp_;
  std::optional<KeyShare> recorded_;
};

/// A queue of requests made ready, of which a thread runs some at a time.
class RequestQueue {
 public:
  /// Returns the requests that were not run yet.
  [[nodiscard]] const Slice& rest() const { return rest_; }
  [[nodiscard]] u32 left() const { return rest_.count; }
  /// Returns the requests that were run since refill().
  [[nodiscard]] Slice ran() const;

  /// Moves the rest to the front and adds the requests of `count` operations from `first` on. The rest must be from the
  /// same maker. If it throws, the queue is empty.
  void refill(const RequestMaker& maker, u64 first, u32 count);
  /// Removes the first `count` requests of the rest, which were run.
  void take(u32 count) {
    rest_.requests += count, rest_.count -= count;
    if (rest_.marks != nullptr) rest_.marks += count;
  }
  /// Keeps at most `count` requests of the rest.
  void limit_to(u64 count) { rest_.count = static_cast<u32>(std::min<u64>(rest_.count, count)); }

  /// Returns the requests of `count` operations outside the queue. The queue is empty afterwards.
  [[nodiscard]] Slice only(const RequestMaker& maker, u64 first, u32 count);
  /// Empties the queue and returns its storage, for requests from elsewhere.
  [[nodiscard]] std::vector<Request>& only() { return rest_ = {}, requests_; }

  /// Returns the fingerprint of the first `count` operations that refill() added last, numbered from `first` on.
  [[nodiscard]] u64 print(const Stream& stream, u64 first, u64 count) const;

 private:
  std::vector<Request> requests_;  // never shrinks: zeroing requests again would add to the cost of making them
  std::vector<Request> gets_;      // the keys of multi-gets among them
  std::vector<u8> marks_;          // of the requests, if calls are recorded
  GeneratedOps made_;
  u32 kept_ = 0;  // requests that the last refill() kept in front of those that it made
  Slice rest_;
};

/// Returns all requests as one slice, which says if they are of one kind.
[[nodiscard]] Slice slice_of(std::span<const Request> requests, std::span<const Request> gets = {});

/// Makes reads that check the loaded records: samples first, first + 1, ... (`count` of them) of `samples`, which are
/// evenly spread over the records. An index does not learn from them, since the workload alone defines popularity.
Slice make_checks(const KeySet& keys, u64 records, u64 samples, u64 first, u32 count, std::vector<Request>& requests,
                  u32 value_bits);

/// Returns the fingerprint of the beginning of a stream, by which two runs can tell that they did the same operations.
/// `made` is the fingerprint of the operations before `first`; the rest is made here, as for one thread.
[[nodiscard]] StreamPrint print_of(const Stream& stream, u64 first = 0, u64 made = 0);

}  // namespace latchlab
