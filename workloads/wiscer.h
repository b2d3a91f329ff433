#pragma once

// A workload file of Wiscer (the benchmark of VIP hashing, Kakaraparthy et al., VLDB 2022): lines of key=value.
//
//     zipf=1                       exponent of the popularity, 0 or more
//     initialSize=1000000          keys that are loaded
//     operationCount=500000000     requests
//     fetchProportion=0.98         sums to 1 with insertProportion and deleteProportion
//     distShiftFreq=10000000       the popularity shifts after every so many requests
//     distShiftPrct=50             the share of the popularity that shifts: that of the hottest keys
//     keyPattern=random            or sequential
//     keyOrder=random              or sorted: the key inserted last is the most popular
//     storageEngine=VIPHashing     or ChainedHashing: the index, unless --index says another. none: requests are
//                                  written to a file, as a trace of ours (trace.h), and no index runs
//     outputFile=output.txt        that file; results go where --out says
//
// Wiscer's own reader ignores what it does not know, also keyOrder (it reads keyorder). It crashes on files that are
// missing, malformed or small. This reader accepts both spellings, and refuses everything else with its line.

#include <optional>
#include <string>
#include <string_view>

#include "src/base/types.h"
#include "workloads/mix.h"

namespace latchlab {

/// A word of storageEngine, and the corresponding index of ours.
struct WiscerEngine {
  std::string_view word;
  std::string_view index;  ///< empty for `none`, which stores nothing
};

struct WiscerFile {
  double zipf = 1;
  u64 initial_size = 0;
  u64 operations = 0;
  double fetch = 1, insert = 0, erase = 0;  ///< shares, which sum to 1
  std::optional<u64> shift_every;           ///< number of operations
  double shift_share = 0;                   ///< of the popularity, 0 to 1
  bool sequential = false;                  ///< keys are 0, 1, 2, ...
  bool sorted = false;                      ///< popularity is by age
  std::optional<WiscerEngine> engine = {};  ///< set if the file names one
  std::optional<std::string> output = {};   ///< a path, set if the file names one

  /// Reads the shipped file with this name, or the file at `path`; ./NAME is always a file. Throws InputError with file
  /// and line.
  [[nodiscard]] static WiscerFile read(const std::string& path);

  /// Returns the engine of the file, or Wiscer's default.
  [[nodiscard]] WiscerEngine engine_in_effect() const;
  /// Returns the file for the requests if the engine is `none`.
  [[nodiscard]] std::string output_in_effect() const { return output.value_or("output.txt"); }

  /// Returns the shares as a mix, in parts per million; Wiscer rounds to percents.
  [[nodiscard]] Mix mix(double negative) const;
};

}  // namespace latchlab
