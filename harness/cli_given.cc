#include "harness/cli_given.h"

#include <fmt/format.h>

#include "src/base/error.h"
#include "src/base/spec.h"

namespace latchlab {

std::vector<std::string>* find(Given& given, std::string_view name) {
  for (auto& [known, values] : given) {
    if (known == name) return &values;
  }
  return nullptr;
}

std::optional<std::string> take(Given& given, std::string_view name) {
  for (auto it = given.begin(); it != given.end(); ++it) {
    if (it->first != name) continue;
    if (it->second.size() > 1) {
      throw InputError(fmt::format("--{} is given {} times", name, it->second.size()));
    }
    std::string value = it->second.front();
    given.erase(it);
    return value;
  }
  return std::nullopt;
}

Given read_options(const std::vector<std::string>& args,
                   const std::function<const OptionRow&(const std::string& name)>& describe) {
  Given given;
  std::string last;   // option before this one
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (!arg.starts_with("--") || arg.size() == 2) {
      throw InputError(fmt::format("'{}' is not an option: options are --name=value; see harness help", arg));
    }
    const std::size_t equals = arg.find('=');
    const std::string name = arg.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (name.empty()) {
      throw InputError(fmt::format("'{}' names no option: options are --name=value; see harness help", arg));
    }
    if (name == "help" && equals != std::string::npos) throw InputError("--help takes no value");
    const OptionRow& option = describe(name);
    std::string value;
    if (option.metavar.empty()) {
      if (equals != std::string::npos) throw InputError(fmt::format("--{} takes no value", name));
    } else if (equals != std::string::npos) {
      value = arg.substr(equals + 1);
    } else if (i + 1 < args.size() && (option.metavar == kLine || !args[i + 1].starts_with("--"))) {
      value = args[++i];  // a variant's line is made of options, so there dashes mean nothing
    }
    if (!option.metavar.empty() && value.empty()) {
      throw InputError(
          fmt::format("--{}: the value is missing; write --{}={}", name, name, option.metavar));
    }
    if (std::vector<std::string>* values = find(given, name)) {
      // A shell makes neighbours of a list's elements. Apart they are a second thought, which would be run beside the first.
      if (option.apply && last != name) {
        throw InputError(fmt::format("--{} is given twice, {} and {}; a list is '--{}={{{},{}}}'", name, values->back(), value, name,
                                     values->back(), value));
      }
      values->push_back(std::move(value));
    } else {
      given.emplace_back(name, std::vector<std::string>{std::move(value)});
    }
    last = name;
  }
  return given;
}

ProgressMode parse_progress(const std::optional<std::string>& text) {
  if (!text || *text == "auto") return ProgressMode::kAuto;
  if (*text == "plain") return ProgressMode::kPlain;
  if (*text == "none") return ProgressMode::kNone;
  throw InputError(fmt::format("--progress: there is no '{}'; write auto, plain or none{}", *text,
                               suggestion(*text, {"auto", "plain", "none"})));
}

}  // namespace latchlab
