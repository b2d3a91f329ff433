#include "src/memory/media/placement_rule.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.h"
#include "src/base/spec.h"

namespace latchlab {

PlacementRule PlacementRule::parse(std::string_view text, std::string_view what) {
  const Spec spec = Spec::parse(text);
  const auto fail = [&](std::string_view why) { return InputError(fmt::format("{} {}: {}", what, text, why)); };
  const std::optional<PlacementKind> kind = value_of_word<PlacementKind>(spec.name);
  if (!kind) {
    const std::vector<std::string> rules(kWords<PlacementKind>.begin(), kWords<PlacementKind>.end());
    throw fail(fmt::format("there is no rule '{}'; there are {}{}", spec.name, fmt::join(rules, ", "),
                           suggestion(spec.name, rules)));
  }
  PlacementRule rule{.kind = *kind};
  SpecReader reader(spec, fmt::format("{} {}", what, text));
  if (rule.kind == PlacementKind::kFixed || rule.kind == PlacementKind::kWeighted) {
    const std::optional<double> share = parse_double(reader.arg_text().value_or(""));
    if (!share || *share < 0 || *share > 1) {
      throw fail(fmt::format("the share of the keys that may be near is missing or wrong; it is 0 to 1, as in {}:0.1",
                             spec.name));
    }
    rule.share = *share;
  }
  if (rule.kind == PlacementKind::kWeighted || rule.kind == PlacementKind::kLeaves) {
    rule.promote = 0;
  } else {
    rule.promote = rule.kind == PlacementKind::kFarFirst ? 2 : 1;
    const bool never = reader.text("promote", "") == "never";
    rule.promote = never ? 0 : static_cast<u32>(reader.number("promote", rule.promote, 1, kMostPromote));
  }
  reader.finish();
  return rule;
}

std::string PlacementRule::str() const {
  std::string text(word(kind));
  if (kind == PlacementKind::kFixed || kind == PlacementKind::kWeighted) text += fmt::format(":{}", share);
  if (kind == PlacementKind::kWeighted || kind == PlacementKind::kLeaves) return text;
  return text + ",promote=" + (promote == 0 ? "never" : std::to_string(promote));
}

}  // namespace latchlab
