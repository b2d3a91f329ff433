#include "sync/latch_hybrid.h"

namespace latchlab {

LatchHybridOptions LatchHybridOptions::parse(const Spec& spec) {
  SpecReader reader(spec, "policy latch-hybrid");
  LatchHybridOptions options;
  options.restarts = reader.arg_u64(options.restarts, 0, 1000);
  reader.finish();
  return options;
}

std::vector<std::pair<std::string, std::string>> LatchHybridOptions::resolved() const {
  return {{"restarts", std::to_string(restarts)}};
}

std::string LatchHybridOptions::about(std::string_view key) {
  if (key == "restarts") return "the number after the colon: after so many restarts a reading operation shares latches";
  return "";
}

}  // namespace latchlab
