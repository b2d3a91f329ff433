// The background sweep of a loop, over a network that plays no client.
#include <memory>
#include <string>
#include <utility>

#include "indexes/memc3/memc3.h"
#include "services/kv/clock.h"
#include "services/kv/loop.h"
#include "services/kv/server_testing.h"
#include "src/testing/catch.h"

namespace latchlab::kv {
namespace {

using testing::kHashSeed;
using testing::StoreOver;

/// Stops the loop when it would wait, or after many passes.
class Quiet final : public Network {
 public:
  Quiet(const Stop& stop, u32& passes) : stop_(stop), passes_(passes) {}
  void wait(u32 most_ms) override {
    if (most_ms != 0 && passes_ != 0) stop_.ask();
    if (++passes_ == kMostPasses) stop_.ask();
  }
  void report(Observer&) override {}
  Sent send(Place, std::string&) override { return {}; }
  void want_input(Place, bool) override {}
  void close(Place) override {}
  void stop_accepting() override {}

 private:
  static constexpr u32 kMostPasses = 100'000;
  const Stop& stop_;
  u32& passes_;
};

template <template <class, class> class Index>
void check_sweep() {
  constexpr u64 kDead = 5'000, kAlive = 100;
  Server server({}, std::make_unique<StoreOver<Index>>(StoreOptions{}, kHashSeed), present());
  {
    const auto session = server.store().join();
    const Moment now = present();
    for (u64 i = 0; i < kDead + kAlive; ++i) {
      const std::string text = "key " + std::to_string(i);
      (void)session->put(server.store().key(text), now, {.expires = i < kDead ? now.ms - 1 : 0}, "value");
    }
  }
  u32 passes = 0;
  const Stop stop;
  Loop(server, std::make_unique<Quiet>(stop, passes), stop).run();
  const StoreCounters counters = server.store().counters();
  CHECK(counters.items >= kAlive);
  CHECK(counters.items < kAlive + kDead / 10);  // where few are dead, the rest waits for the next second
  CHECK(counters.expired > kDead * 9 / 10);
  CHECK(passes < 2'000);
}

TEST_CASE("A loop does not wait while many items are dead, but sweeps until few are") {
  SECTION("cuckoo") { check_sweep<Cuckoo>(); }
  SECTION("memc3") { check_sweep<MemC3>(); }
}

}  // namespace
}  // namespace latchlab::kv
