#pragma once
// The promises of a policy beyond the types and functions that concept Policy asks for (concepts.h). Every policy
// derives from Promises, whose members are the defaults, and names again what it promises otherwise.
#include <optional>
#include <string>
#include <string_view>

namespace latchlab {

struct Promises {
  /// One line for `harness list`. Of each option its Options::about(key) says the meaning in a few words.
  static constexpr std::string_view kAbout = "";
  /// Several threads may write.
  static constexpr bool kManyWriters = true;
  /// One lock lets in one writer after the other, so that threads load a chunk each in turn.
  static constexpr bool kWritersTakeTurns = false;
  /// Operations may need no lock, by hardware transactions or prefixes.
  static constexpr bool kElides = false;
  /// If so: those that only read, too.
  static constexpr bool kElidesReads = true;
  /// An operation is alone with the index: nothing that needs no memory can fail, and several updates may be one
  /// attempt.
  static constexpr bool kExcludes = false;
  /// Bodies are also run for nothing but the pages that they touch, on what nothing proves.
  static constexpr bool kScouts = false;
  /// Why this process cannot do what the policy's word promises, with these options; nothing where it can.
  static std::optional<std::string> degraded(const auto&) { return {}; }
};

}  // namespace latchlab
