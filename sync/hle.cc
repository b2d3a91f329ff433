#include "sync/hle.h"

#include "src/base/error.h"

namespace latchlab {

HleOptions HleOptions::parse(const Spec& spec) {
  SpecReader reader(spec, "policy hle");
  const std::optional<std::string> word = reader.arg_text();
  if (word && *word != "native" && *word != "emulated") {
    throw InputError("policy hle: ':" + *word + "' is unknown; the word after the colon must be native or emulated");
  }
  reader.finish();
  return {.emulated = word == "emulated"};
}

std::vector<std::pair<std::string, std::string>> HleOptions::resolved() const {
  return {{"by", emulated ? "emulated" : "native"}};
}

std::string HleOptions::about(std::string_view key) {
  if (key == "by") return "the word after the colon: native (the prefixes) or emulated (transactions)";
  return "";
}

}  // namespace latchlab
