#pragma once
// The options of a policy that has none: an option is refused with a message.
#include <string>
#include <utility>
#include <vector>

#include "src/base/spec.h"

namespace latchlab {

struct NoOptions {
  /// Throws InputError for an argument or an option.
  static NoOptions parse(const Spec& spec) {
    SpecReader(spec, "policy " + spec.name).finish();
    return {};
  }
  std::vector<std::pair<std::string, std::string>> resolved() const { return {}; }
};

}  // namespace latchlab
