#include "harness/trial/validate.h"

#include <fmt/format.h>

namespace latchlab {

std::string describe_errors(const Tally& tally) {
  std::string out;
  const auto add = [&](u64 count, std::string_view what) {
    if (count == 0) return;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(tally.wrong_values, "values of other keys, or torn ones, were read");
  add(tally.missing, "keys were missing that must be there");
  add(tally.phantoms, "keys were there that cannot be");
  add(tally.disorder, "pairs were scanned out of order or out of bounds");
  return out;
}

Validation validate(const Tally& tally, const Contents& contents) {
  Validation out;
  out.mode = Validate::kTally;
  out.expected_keys = tally.keys();
  out.found_keys = contents.keys;
  if (contents.keys != tally.keys()) {
    out.detail = fmt::format("the index holds {} keys, the tally says {}", contents.keys, tally.keys());
  } else if (contents.wrong_values > 0) {
    out.detail = fmt::format("{} keys hold values of other keys: {}", contents.wrong_values, contents.example);
  } else if (contents.disorder > 0) {
    out.detail = fmt::format("{} keys are out of order: {}", contents.disorder, contents.example);
  } else if (contents.checksum != tally.checksum) {
    out.detail = fmt::format(
        "the index holds {} keys as it should, but not the right ones: their checksum is {:#x} and not {:#x}",
        contents.keys, contents.checksum, tally.checksum);
  }
  out.passed = out.detail.empty();
  return out;
}

Validation no_validation() {
  constexpr const char* kWhy = "--validate=off";
  Validation out;
  out.mode = Validate::kOff;
  out.passed = OrReason<bool>::missing(kWhy);
  out.expected_keys = out.found_keys = OrReason<u64>::missing(kWhy);
  return out;
}

}  // namespace latchlab
