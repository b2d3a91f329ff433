// A session of an index with what the harness asks of it besides: its policy's counters, and a pause of its learning.
#pragma once

#include <concepts>
#include <string_view>
#include <vector>

#include "harness/loop/trial.h"
#include "indexes/concepts.h"
#include "indexes/erased.h"
#include "src/base/types.h"
#include "src/stats/counters.h"
#include "sync/concepts.h"

namespace latchlab {

/// The session of an index, derived from Base: from Counted or from a class derived from that.
template <IndexFace Index, std::derived_from<Counted> Base = Counted>
class CountedSession : public ErasedSession<Index, Base> {
 public:
  using ErasedSession<Index, Base>::ErasedSession;

  [[nodiscard]] std::vector<u64> counters() const final {
    if constexpr (kAsksFurther) return me_.asked().counters();
    std::vector<u64> out;
    if constexpr (requires { me_.counters; }) {
      for_each_counter(me_.counters, [&](std::string_view, u64 value) { out.push_back(value); });
      if constexpr (requires { me_.counters.histogram; }) {
        out.insert(out.end(), me_.counters.histogram.begin(), me_.counters.histogram.end());
      }
    }
    return out;
  }
  [[nodiscard]] ContentionCounts contention() const final {
    if constexpr (kAsksFurther) return me_.asked().contention();
    ContentionCounts out;
    const auto& counters = counted();
    if constexpr (requires { counters.abort_fields(); }) out.aborts = counters.aborts();
    if constexpr (requires { counters.elided(); }) {
      out.fallbacks = counters.fallbacks + by_choice(counters);
      out.elidable = counters.elided() + out.fallbacks;
    }
    if constexpr (requires { counters.read_restarts; }) out.restarts = counters.read_restarts + counters.write_restarts;
    return out;
  }
  void pause_learning() final {
    if constexpr (kAsksFurther) {
      me_.asked().pause_learning();
    } else if constexpr (kLearns<Index>) {
      watch_ = me_.watch;
      me_.watch.sleep();
    }
  }
  void resume_learning() final {
    if constexpr (kAsksFurther) {
      me_.asked().resume_learning();
    } else if constexpr (kLearns<Index>) {
      me_.watch = watch_;
    }
  }
  void idle() final {
    if constexpr (requires { this->index_.idle(me_); }) this->index_.idle(me_);
  }

 protected:
  using ErasedSession<Index, Base>::me_;
  using typename ErasedSession<Index, Base>::ThreadState;

  /// Returns the policy's counters of this thread.
  const auto& counted() const {
    if constexpr (requires { me_.counters; }) {
      return me_.counters;
    } else {
      static constexpr NoCounters kNone;
      return kNone;
    }
  }

 private:
  /// True if another session has the counters: that of the index of words under sized values (stamped.h).
  static constexpr bool kAsksFurther = requires(const ThreadState& me) {
    { me.asked() } -> std::convertible_to<Counted&>;
  };

  // While learning pauses: the watch before.
  [[no_unique_address]] typename WatchOf<typename WrittenAs<Index>::Type>::Type watch_;
};

}  // namespace latchlab
