// What --history and --validate=history ask for: which calls of a run are recorded, and where they go.
#pragma once

#include <string>
#include <string_view>

#include "src/base/types.h"
#include "src/history/recorder.h"

namespace latchlab {

struct Recording {
  static constexpr u64 kUsualShare = 64;  ///< one key in so many is recorded by default

  std::string file;                      ///< where the history goes; empty if it is only checked
  KeyShare keys{.one_in = kUsualShare};  ///< the keys whose calls are recorded
  u64 calls = 0;                         ///< how many calls there is room for; 0: see room_for()

  /// Reads "FILE", "FILE,keys=1/64", "FILE,keys=all,calls=10M". Throws InputError.
  [[nodiscard]] static Recording parse(std::string_view text);
  /// Returns the text that parse() reads back.
  [[nodiscard]] std::string str() const;
  /// Returns the share of the keys: "1/64", "all".
  [[nodiscard]] std::string share() const;
  /// Returns how many calls there is room for in a run on so many records. By default those are the share of the
  /// records, which are inserted first, with a margin, and kMargin more, but at least kThreadMargin for each thread.
  [[nodiscard]] u64 room_for(u64 records, u32 threads) const;

  static constexpr u64 kMargin = 1'000'000, kThreadMargin = 16'384;
  static constexpr u64 kBytesOfCall = sizeof(KeyedCall);
};

}  // namespace latchlab
