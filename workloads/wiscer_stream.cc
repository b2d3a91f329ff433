#include "workloads/wiscer_stream.h"

#include <algorithm>
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

constexpr double kHot = 0.9;             // of the popularity: what inserts and deletes move keys about in
constexpr std::size_t kMostKept = 4096;  // blocks, 16 MB: threads ask in turn, each for some dozens at once
constexpr int kTryBits = 48;             // positions of requests have fewer bits; above them is the number of the try

}  // namespace

WiscerStream::WiscerStream(const WiscerFile& file, u64 seed, const KeySet& keys)
    : Stream(keys),
      file_(file),
      mix_(file.mix(0)),
      seed_(seed),
      fetches_(seed, kWiscerStream),
      changes_(seed, kWiscerStream + 1),
      schedules_(seed, kWiscerStream + 2) {
  begin_again();
}

void WiscerStream::begin_again() const {
  now_ = State{.block = 0, .inserted = file_.initial_size, .order = std::vector<u64>(file_.initial_size), .changes = 0};
  made_.clear();
  ranks_.reset();   // over how many ranks it draws is part of what it draws
  const u64 n = file_.initial_size;
  if (n == 0) return;
  const Bijection scattered(n, seed_, kPopularityStream);
  for (u64 rank = 0; rank < n; ++rank) now_.order[rank] = file_.sorted ? n - 1 - rank : scattered(rank);
  fit_ranks();
}

void WiscerStream::fill(u64 first, std::span<Op> ops) const {
  const std::lock_guard lock(mutex_);
  while (!ops.empty()) {
    const Block& made = block(first / Mix::kBlock);
    const u64 from = first % Mix::kBlock;
    const std::size_t here = std::min<std::size_t>(ops.size(), Mix::kBlock - from);
    std::copy_n(made.begin() + static_cast<std::ptrdiff_t>(from), here, ops.begin());
    ops = ops.subspan(here);
    first += here;
  }
}

const WiscerStream::Block& WiscerStream::block(u64 number) const {
  if (const auto made = made_.find(number); made != made_.end()) return made->second;
  if (number < now_.block) begin_again();
  while (now_.block <= number) {
    make_next();
    if (made_.size() > kMostKept) made_.erase(made_.begin());
  }
  return made_.rbegin()->second;
}

/// Kinds in the order of the deal, one after the other, since each may change the list.
void WiscerStream::make_next() const {
  const u64 number = now_.block++;
  const u64 first = number * Mix::kBlock;
  Block& ops = made_.emplace_hint(made_.end(), number, Block(Mix::kBlock))->second;
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
    Op& op = ops[at];
    op.kind = kinds[at];
    if (op.kind == OpKind::kInsert) {
      insert(op);
    } else if (now_.order.empty()) {
      keys().put_absent(op, first + at);
    } else if (op.kind == OpKind::kErase) {
      erase(op);
    } else {
      keys().put(op, now_.order[fetched_rank(first + at)]);
    }
  }
}

/// The list only changes in shifts, between which ranks are drawn in batches.
void WiscerStream::make_fetches(u64 first, std::span<Op> ops) const {
  if (now_.order.empty()) {
    for (Op& op : ops) keys().put_absent(op, first++);
    return;
  }
  std::array<u64, Mix::kBlock> ranks;
  ranks_->fill(fetches_, first, ranks);
  for (u64 at = 0; at < ops.size(); ++at) {
    if (file_.shift_every && first + at > 0 && (first + at) % *file_.shift_every == 0) shift();
    keys().put(ops[at], now_.order[ranks[at]]);
  }
}

/// From more ranks than there are; those that there are not are drawn again, which leaves the others their proportions.
u64 WiscerStream::fetched_rank(u64 i) const {
  for (u64 attempt = 0;; ++attempt) {
    const u64 rank = (*ranks_)(fetches_, i + (attempt << kTryBits));
    if (rank < now_.order.size()) return rank;
  }
}

bool WiscerStream::is_hot(u64 rank, double share) const { return sums_[rank] < share * sums_[now_.order.size() - 1]; }

/// A uniform one in [from, n).
u64 WiscerStream::any_rank(u64 from) const { return from + bounded(changes_(now_.changes++), now_.order.size() - from); }

void WiscerStream::insert(Op& op) const {
  const u64 record = now_.inserted++;
  keys().put(op, record);
  u64 carried = record;
  std::vector<u64>& order = now_.order;
  if (!order.empty()) {
    for (u64 p = any_rank(0); is_hot(p, kHot);) {
      std::swap(carried, order[p]);
      if (p + 1 == order.size()) break;
      p = any_rank(p + 1);
    }
  }
  order.push_back(carried);
  fit_ranks();
}

void WiscerStream::erase(Op& op) const {
  std::vector<u64>& order = now_.order;
  u64 p = any_rank(0);
  while (is_hot(p, kHot) && p + 1 < order.size()) {
    const u64 behind = any_rank(p + 1);
    std::swap(order[p], order[behind]);
    p = behind;
  }
  keys().put(op, order[p]);
  order[p] = order.back();
  order.pop_back();
  if (!order.empty()) fit_ranks();
}

void WiscerStream::shift() const {
  std::vector<u64>& order = now_.order;
  for (u64 p = 0; p + 1 < order.size() && is_hot(p, file_.shift_share); ++p) std::swap(order[p], order[any_rank(p + 1)]);
}

void WiscerStream::fit_ranks() const {
  const u64 n = now_.order.size();
  while (sums_.size() < n) {
    const double before = sums_.empty() ? 0 : sums_.back();
    sums_.push_back(before + std::pow(static_cast<double>(sums_.size() + 1), -file_.zipf));
  }
  // Where nothing is inserted or deleted the ranks are those that there are, so that batches need no second look.
  const bool changes = mix_.has(OpKind::kInsert) || mix_.has(OpKind::kErase);
  if (ranks_ && n <= ranks_->size() && (n == ranks_->size() || (changes && n >= ranks_->size() / 2))) return;
  ranks_.emplace(changes ? n + n / 4 : n, std::make_shared<ZipfLaw>(file_.zipf));
}

}  // namespace latchlab
