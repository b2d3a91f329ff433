#pragma once
// The promises of a policy beyond the types and functions of concept Policy (concepts.h). Every policy derives from
// Promises, whose members are the defaults, and declares those anew in which it differs.
#include <optional>
#include <string>
#include <string_view>

#include "src/base/types.h"

namespace latchlab {

struct Promises {
  /// One line about the policy, for `harness list`. Its Options::about(key) describes each option in a few words.
  static constexpr std::string_view kAbout = "";
  /// True if several threads may write.
  static constexpr bool kManyWriters = true;
  /// True if one lock lets writers in one after the other, so threads that load the index take turns, a chunk each.
  static constexpr bool kWritersTakeTurns = false;
  /// True if each operation is a section of the machine (Machine::Section).
  static constexpr bool kHasSections = false;
  /// True if operations may need no lock, by hardware transactions or prefixes.
  static constexpr bool kElides = false;
  /// True if kElides holds for operations that only read, too.
  static constexpr bool kElidesReads = true;
  /// True if an operation is alone with the index. Then an attempt that needs no memory cannot fail, and several
  /// updates may be one attempt.
  static constexpr bool kExcludes = false;
  /// True if bodies also run as scouts, only to touch pages; a scout's reads are not validated.
  static constexpr bool kScouts = false;
  /// The threads of its own that the policy runs operations on, beside those that call the index
  /// (Machine::ServerThread).
  static constexpr u32 kServers = 0;
  /// Why the policy's waits are not those of the machine (Machine::wait_until); empty if they are.
  static constexpr std::string_view kWaitsElsewhere = "";
  /// Returns the reason why this process cannot do what the policy promises with these options, or nothing if it can.
  static std::optional<std::string> degraded(const auto&) { return {}; }
};

}  // namespace latchlab
