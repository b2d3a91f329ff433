#include "harness/trial/stationed_run.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>

#include "harness/trial/request_account.h"
#include "indexes/erased.h"
#include "src/base/batch_room.h"
#include "sync/station.h"

namespace latchlab {
namespace {

/// A session as the index of a station.
template <class RawKey>
struct SessionIndex {
  using Raw = RawKey;
  using ThreadState = Erased::Session;

  void find_batch(ThreadState& session, std::span<const Raw> keys, std::span<Found> found, BatchOrder order) {
    session.find(Keys(keys).all(), found, order);
  }
  template <class F>
  void modify_batch(ThreadState& session, std::span<const Raw> keys, std::span<Modified> modified, const F& f,
                    BatchOrder order) {
    session.modify(Keys(keys).all(), modified, f, order);
  }

 private:
  class Keys {
   public:
    explicit Keys(std::span<const Raw> keys) : room_(keys.size()) { std::ranges::copy(keys, room_.all().begin()); }
    std::span<const ErasedKey> all() const { return room_.all(); }

   private:
    BatchRoom<ErasedKey, kMostInCall> room_;
  };
};

/// Requests as the operations of a station.
template <class Raw>
struct Operations {
  const Request* const requests;
  const RequestAccount& account;
  Tally& tally;

  Raw key(std::size_t i) const { return raw_of<Raw>(account.key_of(requests[i])); }
  bool changes(std::size_t i) const { return requests[i].kind != OpKind::kRead; }
  Found next(std::size_t i, const Found& before) const noexcept {
    const Request& request = requests[i];
    switch (request.kind) {
      case OpKind::kInsert: return before ? before : Found(request.value);
      case OpKind::kUpdate:
      case OpKind::kModify: return before ? Found(request.value) : before;
      case OpKind::kIncrement: return before ? Found(incremented(*before, account.value_bits())) : before;
      case OpKind::kUpsert: return request.value;
      case OpKind::kErase: return {};
      default: return before;
    }
  }
  void answer(std::size_t i, const Found& before) noexcept {
    const Request& request = requests[i];
    switch (request.kind) {  // each kind by itself, so that its traits are constants
      case OpKind::kInsert: return account.note_change(OpKind::kInsert, request, !before, tally);
      case OpKind::kUpsert: return account.note_change(OpKind::kUpsert, request, !before, tally);
      case OpKind::kUpdate: return account.note_change(OpKind::kUpdate, request, before.has_value(), tally);
      case OpKind::kErase: return account.note_change(OpKind::kErase, request, before.has_value(), tally);
      default: return account.note(request.kind, account.found_right(request, before, tally), tally);
    }
  }
};

template <class Raw>
class StationedRunOf final : public StationedRun {
 public:
  StationedRunOf(const StationOptions& options, const Batching& batch, u32 value_bits)
      : station_(options), batch_(batch), account_(std::is_same_v<Raw, u64>, value_bits) {}

  u32 run(Runner& runner, const Slice& slice, const std::atomic<bool>& stop, Tally& tally, u32 stop_requests,
          Latencies* latencies) override {
    if (slice.prepares) return runner.run(slice, stop, tally, stop_requests, latencies);
    u32 done = 0;
    // Relaxed: the flag publishes nothing, and seeing it one batch late does no harm.
    while (done < slice.count && !stop.load(kRelaxed)) {
      const u32 left = slice.count - done;
      if (elsewhere_ == 0) elsewhere_ = station_.elsewhere();
      if (elsewhere_ != 0) {
        Slice piece = slice;
        piece.requests += done;
        piece.count = std::min(left, elsewhere_ * batch_.keys);
        piece.further += left - piece.count;
        elsewhere_ -= (piece.count + batch_.keys - 1) / batch_.keys;
        done += runner.run(piece, stop, tally, stop_requests, latencies);
      } else {
        const u32 now = std::min(left, batch_.keys);
        run_batch(runner, slice.requests + done, now, tally);
        done += now;
      }
    }
    return done;
  }

 private:
  void run_batch(Runner& runner, const Request* requests, u32 count, Tally& tally) {
    // The destructor counts what the index has done before it threw.
    struct Counted {
      ~Counted() {
        tally.issued += station.counters().issued - before.issued;
        tally.applied += station.counters().applied - before.applied;
      }
      const Station<SessionIndex<Raw>>& station;
      Tally& tally;
      const StationCounters before = station.counters();
    } const counted{station_, tally};
    Operations<Raw> operations{requests, account_, tally};
    station_.run(index_, runner, count, operations, batch_.order);
  }

  [[no_unique_address]] SessionIndex<Raw> index_;
  Station<SessionIndex<Raw>> station_;
  u32 elsewhere_ = 0;  // batches that the hot loop shall run before the station takes one
  const Batching batch_;
  const RequestAccount account_;
};

}  // namespace

std::unique_ptr<StationedRun> stationed_run(const StationOptions& options, const Batching& batch, bool numbers,
                                            u32 value_bits) {
  if (numbers) return std::make_unique<StationedRunOf<u64>>(options, batch, value_bits);
  return std::make_unique<StationedRunOf<std::string_view>>(options, batch, value_bits);
}

}  // namespace latchlab
