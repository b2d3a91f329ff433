#include "src/model/account.h"

namespace latchlab::model {

void Account::wait_in_parts(const Arrival& arrival, Ticks from, Ticks to) {
  // From the last part to the first.
  const std::array<std::pair<Cause, u32>, 6> parts{{{arrival.from, arrival.source},
                                                    {Cause::kLinks, arrival.link},
                                                    {Cause::kChannels, arrival.channel},
                                                    {Cause::kLineInTransfer, arrival.transfer},
                                                    {Cause::kFillBuffers, arrival.buffer},
                                                    {Cause::kPageWalks, arrival.walk}}};
  Ticks end = arrival.at;
  for (const auto& [cause, ticks] : parts) {
    const Ticks begin = end - std::min<Ticks>(end, ticks);
    const Ticks first = std::max(begin, from);
    const Ticks last = std::min(end, to);
    if (last > first) {
      charge(cause, last - first);
      to = first;
    }
    end = begin;
  }
  if (to > from) charge(arrival.from, to - from);  // a moment of which nothing is known
}

void add_lost(std::vector<Lost>& all, u64 key, Ticks took) {
  auto found = std::ranges::find(all, key, &Lost::key);
  if (found == all.end()) found = all.insert(found, {key, 0, 0});
  ++found->count;
  found->ticks += took;
}

}  // namespace latchlab::model
