#include "harness/trial/request_maker.h"

#include "harness/trial/recorded_run.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace latchlab {
namespace {

void put_key(Request& request, u64 key) {
  request.number = key;
  request.length = sizeof(u64);
}

void put_key(Request& request, std::string_view key) {
  request.bytes = key.data();
  request.length = static_cast<u32>(key.size());
}

/// The required results by kind of operation; the second index is 1 for an absent key.
using Expectations = std::array<std::array<Expect, 2>, kOpKinds>;

/// The stamps of written values. The first request has the stamp `first`. From one request to the next a stamp grows by
/// the increment `step`: 1, or 0 for operations that write nothing.
struct Stamps {
  u64 first;
  u64 step;
};
constexpr Stamps kNoStamps{0, 0};

/// Makes the requests of these operations.
template <class Raw>
void fill_requests(std::span<Request> requests, const KeySet& keys, std::span<const Op> ops, Stamps stamps,
                   u32 value_bits, const Expectations& expect) {
  u64 stamp = stamps.first;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Op& op = ops[i];
    const Raw raw = keys.raw<Raw>(op);
    Request request;  // in registers, and then stored at once
    put_key(request, raw);
    request.value = value_of(raw, stamp, value_bits);
    request.limit = op.keys;
    request.kind = op.kind;
    request.expect = expect[static_cast<std::size_t>(op.kind)][op.absent];
    requests[i] = request;
    stamp += stamps.step;
  }
}

/// Makes the requests of operations that are like `op`, with these keys.
void fill_requests(std::span<Request> requests, std::span<const u64> keys, const Op& op, Expect expect, u64 stamp,
                   u32 value_bits) {
  const u16 limit = op.keys;  // copies, which stay in registers since no store changes them
  const OpKind kind = op.kind;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request request;
    put_key(request, keys[i]);
    request.value = value_of(keys[i], stamp + i, value_bits);
    request.limit = limit;
    request.kind = kind;
    request.expect = expect;
    requests[i] = request;
  }
}

/// Returns the required result of an operation. `may_miss`: a record may be gone, or not there yet. `may_hit`: a key
/// that is to be inserted may be there already.
Expect expectation(OpKind kind, bool absent, bool may_miss, bool may_hit) {
  if (absent) return Expect::kMiss;
  if (about(kind).inserts && !about(kind).updates) return may_hit ? Expect::kEither : Expect::kMiss;
  if (!about(kind).updates && kind != OpKind::kRead) return Expect::kEither;  // the keys of a multi-get count as reads
  return may_miss ? Expect::kEither : Expect::kHit;
}

Expectations expectations(const Stream& stream, bool may_be_gone) {
  const bool may_miss = may_be_gone || stream.addresses_new();
  const bool may_hit = may_be_gone || stream.inserts_may_hit() || stream.size() > stream.keys().capacity();
  Expectations expect;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    for (const bool absent : {false, true})
      expect[kind][absent] = expectation(OpKind{static_cast<u8>(kind)}, absent, may_miss, may_hit);
  }
  return expect;
}

}  // namespace

Slice slice_of(std::span<const Request> requests, std::span<const Request> gets) {
  Slice slice{.requests = requests.data(),
              .count = static_cast<u32>(requests.size()),
              .only = {},
              .teaches = true,
              .gets = gets.data()};
  if (requests.empty()) return slice;
  const OpKind kind = requests.front().kind;
  if (std::all_of(requests.begin(), requests.end(), [&](const Request& request) { return request.kind == kind; })) {
    slice.only = kind;
  }
  return slice;
}

Slice RequestQueue::ran() const {
  if (rest_.requests == nullptr) return {};
  return slice_of(std::span(requests_.data(), rest_.requests), gets_);
}

void RequestQueue::refill(const RequestMaker& maker, u64 first, u32 count) {
  // The queue is emptied first: if memory runs out below, some requests and keys have moved.
  const Slice rest = std::exchange(rest_, {});
  const u32 left = rest.count;
  std::copy_n(rest.requests, left, requests_.data());
  requests_.resize(std::max<std::size_t>(requests_.size(), left + count));
  if (!gets_.empty()) {
    const auto is_multi_get = [](const Request& request) { return request.kind == OpKind::kMultiGet; };
    const auto kept = std::span(requests_).first(left);
    const auto next = std::ranges::find_if(kept, is_multi_get);
    const u64 gone = next == kept.end() ? gets_.size() : next->number;
    gets_.erase(gets_.begin(), gets_.begin() + static_cast<std::ptrdiff_t>(gone));
    for (Request& request : kept) request.number -= is_multi_get(request) ? gone : 0;
  }
  maker.make(first, std::span(requests_).subspan(left, count), gets_, made_);
  kept_ = left;
  const auto all = std::span<const Request>(requests_).first(left + count);
  rest_ = maker.slice(all, gets_);
  if (!maker.recorded()) return;
  marks_.resize(std::max(marks_.size(), all.size()));
  mark_requests(all, gets_, *maker.recorded(), !maker.stream().keys().bytes(), marks_);
  rest_.marks = marks_.data();
}

Slice RequestQueue::only(const RequestMaker& maker, u64 first, u32 count) {
  rest_ = {};
  refill(maker, first, count);
  return std::exchange(rest_, {});
}

u64 RequestQueue::print(const Stream& stream, u64 first, u64 count) const {
  const std::optional<Op> like = stream.alike();
  if (!like) return fingerprint(first, std::span(made_.ops).first(count), made_.gets);
  std::array<Op, 256> ops;  // the fingerprint is a sum, so it can be made in blocks
  ops.fill(*like);
  u64 sum = 0;
  for (u64 done = 0; done < count;) {
    const auto here = std::span(ops).first(std::min<u64>(count - done, ops.size()));
    for (Op& op : here) op.key = requests_[kept_ + done++].number;
    sum += fingerprint(first + done - here.size(), here);
  }
  return sum;
}

void RequestMaker::make(u64 first, std::span<Request> requests, std::vector<Request>& gets, GeneratedOps& made) const {
  if (const std::optional<Op> like = stream_.alike()) return make_alike(first, requests, *like);
  stream_.keys().bytes() ? make_of<std::string_view>(first, requests, gets, made)
                         : make_of<u64>(first, requests, gets, made);
}

Slice RequestMaker::slice(std::span<const Request> requests, std::span<const Request> gets) const {
  const std::optional<Op> like = stream_.alike();
  if (!like || requests.empty()) return slice_of(requests, gets);
  return {.requests = requests.data(),
          .count = static_cast<u32>(requests.size()),
          .only = like->kind,
          .teaches = true,
          .gets = gets.data()};
}

void RequestMaker::make_alike(u64 first, std::span<Request> requests, const Op& op) const {
  constexpr std::size_t kBlock = 256;  // keys that fit in the first-level cache
  const Expect expect = expectations(stream_, may_be_gone_)[static_cast<std::size_t>(op.kind)][op.absent];
  while (!requests.empty()) {
    std::array<u64, kBlock> keys;
    const auto here = requests.first(std::min(requests.size(), kBlock));
    stream_.fill_keys(first, std::span(keys).first(here.size()));
    fill_requests(here, keys, op, expect, first_stamp_ + first, value_bits_);
    requests = requests.subspan(here.size());
    first += here.size();
  }
}

template <class Raw>
void RequestMaker::make_of(u64 first, std::span<Request> requests, std::vector<Request>& gets,
                           GeneratedOps& made) const {
  made.ops.resize(requests.size());
  made.gets.clear();
  stream_.fill(first, made.ops, made.gets);
  const KeySet& keys = stream_.keys();
  const Expectations expect = expectations(stream_, may_be_gone_);
  fill_requests<Raw>(requests, keys, made.ops, {first_stamp_ + first, 1}, value_bits_, expect);
  if (made.gets.empty()) return;
  u64 next = gets.size();
  gets.resize(next + made.gets.size());
  fill_requests<Raw>(std::span(gets).subspan(next), keys, made.gets, kNoStamps, value_bits_, expect);
  for (Request& request : requests) {
    if (request.kind == OpKind::kMultiGet) request.number = std::exchange(next, next + request.limit);
  }
}

Slice make_checks(const KeySet& keys, u64 records, u64 samples, u64 first, u32 count, std::vector<Request>& requests,
                  u32 value_bits) {
  requests.resize(count);
  std::vector<Op> ops(count);
  for (u32 i = 0; i < count; ++i) {
    // 128 bits, since the product of two counts may exceed 64.
    __extension__ using Wide = unsigned __int128;
    const u64 record = static_cast<u64>(static_cast<Wide>(first + i) * records / samples);
    keys.put(ops[i], record);
  }
  Expectations expect;
  for (auto& of_kind : expect) of_kind.fill(Expect::kHit);
  keys.bytes() ? fill_requests<std::string_view>(requests, keys, ops, kNoStamps, value_bits, expect)
               : fill_requests<u64>(requests, keys, ops, kNoStamps, value_bits, expect);
  return {.requests = requests.data(), .count = count, .only = OpKind::kRead, .teaches = false, .gets = nullptr};
}

StreamPrint print_of(const Stream& stream, u64 first, u64 made) {
  StreamPrint print{.operations = std::min(StreamPrint::kMost, stream.size()), .fingerprint = made};
  std::vector<Op> ops(kChunkRequests), gets;
  while (first < print.operations) {
    const auto here = std::span(ops).first(std::min<u64>(kChunkRequests, print.operations - first));
    gets.clear();
    stream.fill(first, here, gets);
    print.fingerprint += fingerprint(first, here, gets);
    first += here.size();
  }
  return print;
}

}  // namespace latchlab
