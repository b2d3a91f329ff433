#include "workloads/wiscer_requests.h"

#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "workloads/bijection.h"
#include "workloads/deal.h"
#include "workloads/law.h"
#include "workloads/streams.h"

namespace latchlab {

namespace {

constexpr double kHot = 0.9;  // share of the popularity within which inserts and deletes move keys
constexpr int kTryBits = 48;  // positions of requests have fewer bits; the number of the try is above them

}  // namespace

WiscerRequests::WiscerRequests(const WiscerFile& file, u64 seed, const KeySet& keys)
    : keys_(keys),
      file_(file),
      mix_(file.mix(0)),
      fetches_(seed, kWiscerStream),
      changes_(seed, kWiscerStream + 1),
      schedules_(seed, kWiscerStream + 2),
      inserted_(file.initial_size),
      order_(file.initial_size) {
  const u64 n = file_.initial_size;
  if (n == 0) return;
  const Bijection scattered(n, seed, kPopularityStream);
  for (u64 rank = 0; rank < n; ++rank) order_[rank] = file_.sorted ? n - 1 - rank : scattered(rank);
  fit_ranks();
}

/// Makes the next block. The kinds come in the order of the deal, one after the other, since each may change the list.
void WiscerRequests::make_next(std::span<Op, Mix::kBlock> ops) {
  const u64 number = block_++;
  const u64 first = number * Mix::kBlock;
  if (mix_.only() == static_cast<std::size_t>(OpKind::kRead)) return make_fetches(first, ops);
  std::array<OpKind, Mix::kBlock> kinds;
  const Deal deal(schedules_(number));
  u64 dealt = 0;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    for (u64 left = mix_.before(number + 1, kind) - mix_.before(number, kind); left > 0; --left) {
      kinds[deal(dealt++)] = static_cast<OpKind>(kind);
    }
  }
  for (u64 at = 0; at < ops.size(); ++at) {
    if (file_.shift_every && first + at > 0 && (first + at) % *file_.shift_every == 0) shift();
    Op& op = ops[at] = Op{.kind = kinds[at]};
    if (op.kind == OpKind::kInsert) {
      insert(op);
    } else if (order_.empty()) {
      keys_.put_absent(op, first + at);
    } else if (op.kind == OpKind::kErase) {
      erase(op);
    } else {
      keys_.put(op, order_[fetched_rank(first + at)]);
    }
  }
}

/// Makes a block of fetches only. The list changes only in shifts, between which ranks are drawn in batches.
void WiscerRequests::make_fetches(u64 first, std::span<Op> ops) {
  if (order_.empty()) {
    for (Op& op : ops) op = Op{}, keys_.put_absent(op, first++);
    return;
  }
  std::array<u64, Mix::kBlock> ranks;
  ranks_->fill(fetches_, first, ranks);
  for (u64 at = 0; at < ops.size(); ++at) {
    if (file_.shift_every && first + at > 0 && (first + at) % *file_.shift_every == 0) shift();
    ops[at] = Op{};
    keys_.put(ops[at], order_[ranks[at]]);
  }
}

/// Returns the rank of a fetch. It draws from more ranks than exist, and draws again if the rank does not exist. That
/// keeps the proportions of the ranks that do.
u64 WiscerRequests::fetched_rank(u64 i) const {
  for (u64 attempt = 0;; ++attempt) {
    const u64 rank = (*ranks_)(fetches_, i + (attempt << kTryBits));
    if (rank < order_.size()) return rank;
  }
}

bool WiscerRequests::is_hot(u64 rank, double share) const { return sums_[rank] < share * sums_[order_.size() - 1]; }

/// Returns a uniform random rank in [from, n).
u64 WiscerRequests::any_rank(u64 from) { return from + bounded(changes_(taken_++), order_.size() - from); }

void WiscerRequests::insert(Op& op) {
  const u64 record = inserted_++;
  keys_.put(op, record);
  u64 carried = record;
  if (!order_.empty()) {
    for (u64 p = any_rank(0); is_hot(p, kHot);) {
      std::swap(carried, order_[p]);
      if (p + 1 == order_.size()) break;
      p = any_rank(p + 1);
    }
  }
  order_.push_back(carried);
  fit_ranks();
}

void WiscerRequests::erase(Op& op) {
  u64 p = any_rank(0);
  while (is_hot(p, kHot) && p + 1 < order_.size()) {
    const u64 behind = any_rank(p + 1);
    std::swap(order_[p], order_[behind]);
    p = behind;
  }
  keys_.put(op, order_[p]);
  order_[p] = order_.back();
  order_.pop_back();
  if (!order_.empty()) fit_ranks();
}

void WiscerRequests::shift() {
  for (u64 p = 0; p + 1 < order_.size() && is_hot(p, file_.shift_share); ++p)
    std::swap(order_[p], order_[any_rank(p + 1)]);
}

void WiscerRequests::fit_ranks() {
  const u64 n = order_.size();
  while (sums_.size() < n) {
    const double before = sums_.empty() ? 0 : sums_.back();
    sums_.push_back(before + std::pow(static_cast<double>(sums_.size() + 1), -file_.zipf));
  }
  // Without inserts and deletes the ranks are exact, so that batches need no check.
  const bool changes = mix_.has(OpKind::kInsert) || mix_.has(OpKind::kErase);
  if (ranks_ && n <= ranks_->size() && (n == ranks_->size() || (changes && n >= ranks_->size() / 2))) return;
  ranks_.emplace(changes ? n + n / 4 : n, std::make_shared<ZipfLaw>(file_.zipf));
}

}  // namespace latchlab
