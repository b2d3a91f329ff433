#include "sync/hybrid.h"

namespace latchlab {

HybridOptions HybridOptions::parse(const Spec& spec) {
  SpecReader reader(spec, "policy hybrid");
  HybridOptions options;
  options.restarts = reader.arg_u64(options.restarts, 0, 1'000'000);
  options.suspend = reader.flag("suspend", options.suspend);
  reader.finish();
  return options;
}

std::vector<std::pair<std::string, std::string>> HybridOptions::resolved() const {
  return {{"restarts", std::to_string(restarts)}, {"suspend", suspend ? "1" : "0"}};
}

std::string HybridOptions::about(std::string_view key) {
  if (key == "restarts") return "the number after the colon: tries by transaction after the first one";
  if (key == "suspend") {
    return "begin before the descent and do not track its loads (TSXLDTRK); the versions validate it at the end";
  }
  return "";
}

}  // namespace latchlab
