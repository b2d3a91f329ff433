#include "services/kv/null_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "services/kv/item.h"
#include "src/base/batching.h"
#include "src/base/function_ref.h"
#include "src/base/spec.h"

namespace latchlab::kv {
namespace {

constexpr u64 kMostValueBytes = (16 << 20) - (64 << 10);

class NullStore final : public Store {
 public:
  NullStore(u64 value_bytes, u64 seed) : Store(seed), value_bytes_(value_bytes) {}

  std::unique_ptr<Store::Session> join() override { return std::make_unique<Session>(*this); }
  void flush(i64, Moment) override {}
  StoreCounters counters() const override { return {}; }
  u64 reserved() const override { return 0; }

 private:
  class Session final : public Store::Session {
   public:
    // A session has an item of its own, since an access writes to it.
    explicit Session(NullStore& store) : store_(store), bytes_(kItemHead + store.value_bytes_, std::byte{'0'}) {
      Item::write_head(bytes_.data(), {.cas = 1});
      items_.fill(Item(bytes_));
    }

    void find(std::span<const Key> keys, Moment, const Batching& batch,
              FunctionRef<void(std::size_t first, Items items)> visit) override {
      for (std::size_t first = 0; first < keys.size(); first += batch.keys) {
        visit(first, Items(items_.data(), std::min<std::size_t>(batch.keys, keys.size() - first)));
      }
    }
    Effect change(const Key&, Moment, FunctionRef<Wish(const Item* before)> decide) override {
      if (decide(nullptr).kind() == Wish::Kind::kPut) return Effect::kInserted;
      switch (decide(&*items_[0]).kind()) {
        case Wish::Kind::kPut: return Effect::kReplaced;
        case Wish::Kind::kErase: return Effect::kErased;
        case Wish::Kind::kLeave: break;
      }
      return Effect::kNone;
    }
    Effect put(const Key&, Moment, const ItemFields&, std::string_view) override { return Effect::kReplaced; }

    Swept sweep(std::size_t, Moment) override { return {}; }
    std::unique_ptr<Walk> begin_walk() override { return nullptr; }
    bool walk_on(Walk&, std::size_t, Moment, FunctionRef<void(const Item& item)>) override { return false; }
    u64 next_cas() override { return store_.next_cas_.fetch_add(1, kRelaxed); }
    void idle() override {}

   private:
    NullStore& store_;
    std::vector<std::byte> bytes_;
    std::array<std::optional<Item>, kMostInAttempt> items_;  // all the same
  };

  const std::size_t value_bytes_;
  std::atomic<u64> next_cas_{2};
};

}  // namespace

StoreKind null_store_kind() {
  return {.index = "null",
          .policy = "none",
          .many_writers = true,
          .walks = false,
          .make = [](const StoreOptions& options, u64 seed) -> std::unique_ptr<Store> {
            SpecReader reader(options.index, "store null");
            const u64 value_bytes = reader.number("value_size", 32, 0, kMostValueBytes);
            reader.finish();
            SpecReader(options.sync, "policy " + options.sync.name + " of the store null").finish();
            return std::make_unique<NullStore>(value_bytes, seed);
          }};
}

}  // namespace latchlab::kv
