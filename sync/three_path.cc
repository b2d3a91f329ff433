#include "sync/three_path.h"

namespace latchlab {

ThreePathOptions ThreePathOptions::parse(const Spec& spec) {
  SpecReader reader(spec, "policy three-path");
  ThreePathOptions options;
  options.restarts = reader.arg_u64(options.restarts, 0, 1'000'000);
  options.middle = reader.number("middle", options.middle, 0, 1'000'000);
  reader.finish();
  return options;
}

std::vector<std::pair<std::string, std::string>> ThreePathOptions::resolved() const {
  return {{"restarts", std::to_string(restarts)}, {"middle", std::to_string(middle)}};
}

std::string ThreePathOptions::about(std::string_view key) {
  if (key == "restarts") return "the number after the colon: tries without versions after the first one";
  if (key == "middle") return "tries that look at latches and change versions, after the first of them";
  return "";
}

}  // namespace latchlab
