// From a stream's operations to requests: which keys, which values, and what a read must come back with.
//
// A promise is made only where it holds at all moments of the run, whatever overtakes what:
//
//   a read or update of a record   hits, unless the workload erases (the record may be gone, or not there yet) or
//                                  addresses what was just inserted (Stream::addresses_new), or the index keeps nothing
//   a read of an absent key        misses
//   an insert                      finds its key absent, unless the workload erases (then an upsert may have come
//                                  before it), or inserts what may be there (a trace; or upserts address what is new:
//                                  Stream::inserts_may_hit), or has more operations than there are keys (lines of a
//                                  file, u32, even strides), which then go round; one that fills an index inserts each
//                                  record once, of whichever keys
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "harness/loop/request.h"
#include "harness/loop/trial.h"
#include "workloads/stream.h"

namespace latchlab {

/// The operations that requests were made of, as Stream::fill leaves them; where they are alike nothing is made of
/// them.
struct GeneratedOps {
  std::vector<Op> ops;
  std::vector<Op> gets;
};

class RequestMaker {
 public:
  /// `stream` must outlive the maker. `may_be_gone`: whether anything of the workload erases, or the index keeps
  /// nothing. `value_bits`: 64 or 32.
  RequestMaker(const Stream& stream, bool may_be_gone, u32 value_bits)
      : stream_(stream), may_be_gone_(may_be_gone), value_bits_(value_bits) {}

  /// Makes the requests of the operations number first, first + 1, ..., which it leaves in `made` unless they are
  /// alike. The keys of multi-gets go to the end of `gets`.
  void make(u64 first, std::span<Request> requests, std::vector<Request>& gets, GeneratedOps& made) const;

  /// Requests that this has made, all of them, as a slice. `gets`: the keys of multi-gets among them.
  [[nodiscard]] Slice slice(std::span<const Request> requests, std::span<const Request> gets) const;

  [[nodiscard]] const Stream& stream() const { return stream_; }

 private:
  /// make(), where the keys are of this type.
  template <class Raw>
  void make_of(u64 first, std::span<Request> requests, std::vector<Request>& gets, GeneratedOps& made) const;
  /// make(), where operations are alike: with no Op for each.
  void make_alike(u64 first, std::span<Request> requests, const Op& op) const;

  const Stream& stream_;
  bool may_be_gone_;
  u32 value_bits_;
};

/// Requests that are made ready, and what is left of them when some were run.
class RequestQueue {
 public:
  /// Those that were not run yet.
  [[nodiscard]] const Slice& rest() const { return rest_; }
  [[nodiscard]] u32 left() const { return rest_.count; }
  /// Those before them, since refill().
  [[nodiscard]] Slice ran() const;

  /// Moves the rest to the front and adds the requests of `count` operations from `first` on. If it throws, nothing is
  /// left. The rest was made by the same maker.
  void refill(const RequestMaker& maker, u64 first, u32 count);
  /// The first `count` of the rest were run.
  void take(u32 count) { rest_.requests += count, rest_.count -= count; }
  /// Only so many of the rest are to be run.
  void limit_to(u64 count) { rest_.count = static_cast<u32>(std::min<u64>(rest_.count, count)); }

  /// Requests of `count` operations that stand for themselves: nothing is left of those before, or of these for
  /// refill().
  [[nodiscard]] Slice only(const RequestMaker& maker, u64 first, u32 count);
  /// The same with requests from elsewhere.
  [[nodiscard]] std::vector<Request>& only() { return rest_ = {}, requests_; }

  /// The fingerprint of the first `count` operations that refill() made last, as those from `first` on.
  [[nodiscard]] u64 print(const Stream& stream, u64 first, u64 count) const;

 private:
  std::vector<Request> requests_;  // as many as there ever were: zeroing them again would cost a part of making them
  std::vector<Request> gets_;      // the keys of multi-gets among them
  GeneratedOps made_;
  u32 kept_ = 0;  // of refill(): requests before those that it made
  Slice rest_;
};

/// All requests as one slice, which says if they are of one kind.
[[nodiscard]] Slice slice_of(std::span<const Request> requests, std::span<const Request> gets = {});

/// Reads that check what was loaded: requests for `count` samples of the records, the first being sample number
/// `first` of `samples` in all, evenly spread over the records. They teach nothing: popularity is for the workload to
/// say.
Slice make_checks(const KeySet& keys, u64 records, u64 samples, u64 first, u32 count, std::vector<Request>& requests,
                  u32 value_bits);

/// What tells that two runs did the same operations, of the beginning of a stream: from operation `first` on made here,
/// as for one thread; `made`: the fingerprint of those before.
[[nodiscard]] StreamPrint print_of(const Stream& stream, u64 first = 0, u64 made = 0);

}  // namespace latchlab
