#include "sync/rtm.h"

namespace latchlab {

RtmOptions RtmOptions::parse(const Spec& spec) {
  const RtmOptions standard;
  SpecReader reader(spec, "policy rtm");
  RtmOptions options;
  options.restarts = reader.arg_u64(standard.restarts, 0, 1'000'000);
  options.wait = reader.flag("wait", standard.wait);
  options.busy_counts = reader.flag("busy_counts", standard.busy_counts);
  options.obey_retry = reader.flag("obey_retry", standard.obey_retry);
  options.respec = reader.flag("respec", standard.respec);
  reader.finish();
  return options;
}

std::vector<std::pair<std::string, std::string>> RtmOptions::resolved() const {
  const auto text = [](bool flag) { return flag ? "1" : "0"; };
  return {{"restarts", std::to_string(restarts)},
          {"wait", text(wait)},
          {"busy_counts", text(busy_counts)},
          {"obey_retry", text(obey_retry)},
          {"respec", text(respec)}};
}

std::string RtmOptions::about(std::string_view key) {
  if (key == "restarts") return "the number after the colon: tries after the first one, whatever the abort status";
  if (key == "wait") return "wait until the lock is free before each try";
  if (key == "busy_counts") return "an abort because the lock was held costs a try";
  if (key == "obey_retry") return "take the lock at once when the processor says that a retry is useless";
  if (key == "respec") return "if the lock is held when the tries are used up, wait and speculate again";
  return "";
}

}  // namespace latchlab
