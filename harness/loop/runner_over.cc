#include "harness/loop/runner_over.h"

#include <string_view>
#include <utility>

#include "harness/loop/over_session.h"
#include "harness/loop/runner_of.h"

namespace latchlab {
namespace {

template <class Raw>
struct Held {
  OverSession<Raw> held;
};

template <class Raw>
class RunnerOver final : Held<Raw>, public RunnerOf<OverSession<Raw>> {
 public:
  RunnerOver(std::unique_ptr<Counted> session, const Batching& batch, u32 value_bits, Clock& clock)
      : Held<Raw>{OverSession<Raw>(std::move(session))},
        RunnerOf<OverSession<Raw>>(this->held, batch, value_bits, clock) {}
};

}  // namespace

std::unique_ptr<Runner> runner_over(std::unique_ptr<Counted> session, bool numbers, const Batching& batch,
                                    u32 value_bits, Clock& clock) {
  if (numbers) return std::make_unique<RunnerOver<u64>>(std::move(session), batch, value_bits, clock);
  return std::make_unique<RunnerOver<std::string_view>>(std::move(session), batch, value_bits, clock);
}

}  // namespace latchlab
