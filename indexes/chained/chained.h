#pragma once
// `chained`: a hash table of chains, each in the order of its inserts, the newest key first (chains.h).
#include <string_view>

#include "indexes/chained/chains.h"

namespace latchlab {

namespace chained {
struct NoMark {};
}  // namespace chained

template <class Layout, class KeyType>
class Chained : public Chains<Layout, KeyType, chained::NoMark, chained::NewKeys::kFirst> {
 public:
  static constexpr std::string_view kName = "chained";
};

}  // namespace latchlab
