#pragma once

// A workload file of Wiscer (the benchmark of VIP hashing, Kakaraparthy et al., VLDB 2022): lines of key=value.
//
//     zipf=1                       exponent of the popularity, 0 or more
//     initialSize=1000000          keys that are loaded
//     operationCount=500000000     requests
//     fetchProportion=0.98         with insertProportion and deleteProportion it sums to 1
//     distShiftFreq=10000000       after every so many requests the popularity shifts
//     distShiftPrct=50             ... that of the hottest keys which have this share of it
//     keyPattern=random            or sequential
//     keyOrder=random              or sorted: what was inserted last is the most popular
//     storageEngine=VIPHashing     or ChainedHashing: which index it is, unless --index says another; none: the
//                                  requests are written to a file, as a trace of ours (trace.h), and nothing runs
//     outputFile=output.txt        that file; results go where --out says
//
// Wiscer's own reader ignores what it does not know, also keyOrder (it reads keyorder), and crashes on files that are
// missing, malformed or small. Here both spellings are read, and everything else is refused with its line.

#include <optional>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "workloads/mix.h"

namespace latchlab {

/// A word of storageEngine, and our index that is the like.
struct WiscerEngine {
  std::string_view word;
  std::string_view index;  ///< empty for `none`, which stores nothing
};

struct WiscerFile {
  double zipf = 1;
  u64 initial_size = 0;
  u64 operations = 0;
  double fetch = 1, insert = 0, erase = 0;  ///< shares, which sum to 1
  std::optional<u64> shift_every;           ///< operations
  double shift_share = 0;                   ///< of the popularity, 0 to 1
  bool sequential = false;                  ///< keys are 0, 1, 2, ...
  bool sorted = false;                      ///< popularity is by age
  std::optional<WiscerEngine> engine = {};  ///< where the file says one
  std::optional<std::string> output = {};   ///< a path, where the file says one

  /// The one with this name of those that are shipped, or the file at `path`: ./NAME is always a file. Throws
  /// InputError with file and line.
  [[nodiscard]] static WiscerFile read(const std::string& path);

  /// Its engine, or Wiscer's default.
  [[nodiscard]] WiscerEngine engine_in_effect() const;
  /// Where the requests go if that is `none`.
  [[nodiscard]] std::string output_in_effect() const { return output.value_or("output.txt"); }

  /// The shares as a mix; in parts per million, where Wiscer rounds to percents.
  [[nodiscard]] Mix mix(double negative) const;
};

}  // namespace latchlab
