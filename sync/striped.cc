#include "sync/striped.h"

namespace latchlab {

StripedOptions StripedOptions::parse(const Spec& spec) {
  SpecReader reader(spec, "policy striped");
  StripedOptions options;
  options.stripes = reader.arg_u64(options.stripes, 1, u64{1} << 20);
  reader.finish();
  return options;
}

std::vector<std::pair<std::string, std::string>> StripedOptions::resolved() const {
  return {{"stripes", std::to_string(stripes)}};
}

std::string StripedOptions::about(std::string_view key) {
  if (key == "stripes") return "the number after the colon: how many versions there are, each on a line of its own";
  return "";
}

}  // namespace latchlab
