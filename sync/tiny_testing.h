#pragma once
// A policy for programs of a few operations: at Scale::kTiny, steps that normally need many operations happen after a
// few.
#include "src/base/scale.h"
#include "src/reclaim/epochs.h"
#include "sync/adaptive.h"
#include "sync/concepts.h"

namespace latchlab::testing {

template <class L>
struct TinyLayout : L {
  static constexpr Scale kScale = Scale::kTiny;
};

template <class R>
struct TinyReclaimer {
  using Type = R;
};
template <class M, u64 kGrace, u32 kBatch, u32 kQuietOps, class Holds, class Flag>
struct TinyReclaimer<Epochs<M, kGrace, kBatch, kQuietOps, Holds, Flag>> {
  using Type = Epochs<M, kGrace, 1, 1, Holds, Flag>;
};

template <class P>
struct Tiny : P {
  using P::P;
  using Layout = TinyLayout<typename P::Layout>;
  using Reclaimer = typename TinyReclaimer<typename P::Reclaimer>::Type;
};

}  // namespace latchlab::testing

namespace latchlab {

template <class M, class Bugs>
struct LearnedOf<testing::Tiny<Adaptive<M, Bugs>>> {
  using Type = typename Adaptive<M, Bugs>::template LearnedAt<Scale::kTiny>;
};

}  // namespace latchlab
