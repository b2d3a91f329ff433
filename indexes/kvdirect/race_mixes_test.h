#pragma once
// Programs with which the race finder explores kvdirect. The tables have two buckets. A line has room for ten pointers,
// or for two pairs. So programs of a few operations make lines and records come and go, and use each other's again.
#include <algorithm>
#include <vector>

#include "indexes/explore_test.h"
#include "indexes/kvdirect/kvdirect.h"
#include "src/testing/unmixed.h"

namespace latchlab::testing {

/// The same table with its pairs in lines.
template <class Layout, class KeyType>
class KvDirectInline : public KvDirect<Layout, KeyType> {
  using Base = KvDirect<Layout, KeyType>;

 public:
  using typename Base::Options;
  KvDirectInline() : KvDirectInline(Options()) {}
  explicit KvDirectInline(Options options) : Base(with_pairs_in_lines(options)) {}

 private:
  static Options with_pairs_in_lines(Options options) {
    options.threshold = 16;
    return options;
  }
};

/// Returns number `nth` of the keys in a bucket of two. Keys with the same number have the same secondary hash if
/// `alike` is true.
inline u64 frugal_key(u64 bucket, u64 nth, bool alike = false) {
  return unmixed(bucket << 63 | nth << 16 | (alike ? 7 : nth));
}

/// Returns mixes for tables with `of_line` pairs a line, two or more.
inline std::vector<RaceMix<u64>> kvdirect_mixes(u32 of_line) {
  const auto keys = [](u64 bucket, u64 from, u64 count, bool alike = false) {
    std::vector<u64> all;
    for (u64 nth = from; nth < from + count; ++nth) all.push_back(frugal_key(bucket, nth, alike));
    return all;
  };
  const auto both = [](std::vector<u64> all, const std::vector<u64>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const std::vector<u64> full = keys(0, 0, of_line), also_full = keys(1, 0, of_line);
  // Each mix: name, preloaded keys, erased keys, hot keys, and the weights of find, insert, update, upsert, erase and
  // scan.
  return {
      {"one line", {full[0]}, {}, {full[0], full[1], frugal_key(0, 50)}, {4, 4, 2, 2, 4, 1}},
      {"an empty table", {}, {}, {full[0], frugal_key(1, 1)}, {4, 5, 1, 1, 2, 1}},
      {"a line that comes and goes", full, {}, keys(0, of_line - 1, 3), {4, 5, 1, 1, 5, 1}},
      {"two lines that come and go in two chains",
       both(full, also_full),
       {},
       both(keys(0, of_line - 1, 2), keys(1, of_line - 1, 2)),
       {4, 5, 1, 1, 5, 1}},
      {"a line in the middle of a chain",
       keys(0, 0, 3 * of_line),
       {},
       keys(0, of_line, std::min(of_line, 3u)),
       {3, 3, 1, 1, 6, 1}},
      {"keys that hash alike", keys(0, 1, 3, true), {}, keys(0, 1, 4, true), {4, 5, 2, 2, 5, 1}},
      {"blocks that go from chain to chain",
       both(full, also_full),
       {full[0], full[1]},
       {full[0], full[1], also_full[0], also_full[1]},
       {6, 4, 1, 1, 6, 0}},
  };
}
inline std::vector<RaceMix<u64>> kvdirect_pointer_mixes() { return kvdirect_mixes(10); }
inline std::vector<RaceMix<u64>> kvdirect_inline_mixes() { return kvdirect_mixes(2); }

}  // namespace latchlab::testing
