#include "harness/cli/given.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "harness/config/values.h"
#include "src/base/error.h"
#include "src/base/spec.h"
#include "workloads/text_file.h"

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

namespace {

using Describe = std::function<const OptionEntry&(const std::string& name)>;

/// The options of the command line or of one file, in the order in which they come.
class Groups {
 public:
  void add(const std::string& name, std::string value) {
    if (last_ != name) {  // the first time, or again after others: earlier values go
      std::erase_if(given_, [&](const auto& option) { return option.first == name; });
      given_.emplace_back(name, std::vector<std::string>());
    }
    last_ = name;
    find(given_, name)->push_back(std::move(value));  // a shell expands a list to neighbouring options
  }
  /// Makes the next option no neighbour of the last one.
  void interrupt() { last_.clear(); }
  [[nodiscard]] Given& given() { return given_; }

 private:
  Given given_;
  std::string last_;  // the option that came last
};

/// Adds the option that begins at args[i], with its value, and moves i to its last word. Returns its row.
const OptionEntry& add_option(Groups& groups, const std::vector<std::string>& args, std::size_t& i,
                              const Describe& describe) {
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
  const OptionEntry& option = describe(name);
  std::string value;
  if (option.metavar.empty()) {
    if (equals != std::string::npos) throw InputError(fmt::format("--{} takes no value", name));
  } else if (equals != std::string::npos) {
    value = arg.substr(equals + 1);
  } else if (i + 1 < args.size() && (option.metavar == kLine || !args[i + 1].starts_with("--"))) {
    value = args[++i];  // the value may begin with dashes if it is a variant's line of options
  }
  if (!option.metavar.empty() && value.empty()) {
    throw InputError(fmt::format("--{}: the value is missing; write --{}={}", name, name, option.metavar));
  }
  groups.add(name, std::move(value));
  return option;
}

/// Throws InputError for values that no run can have. Values of a file are checked while its lines are read, since
/// later the error could not name the line.
void check_values(const OptionEntry& option, const std::vector<std::string>& values) {
  if (option.apply == nullptr) return;
  for (const std::string& value : expand_axis(fmt::format("--{}", option.name), values)) {
    Config scratch;
    option.apply(scratch, value);
  }
}

/// Returns the options of the file that `arg`, "@FILE", names.
Given read_file(const std::string& arg, const Describe& describe) {
  if (arg.size() == 1) throw InputError("'@' names no file of options; write @FILE");
  Groups groups;
  TextFile("options", arg.substr(1))
      .for_each_line(
          [&](const TextFile::Line& line) {
            try {
              if (line.text.starts_with('@'))
                throw InputError("a file of options names no other; name both on the command line");
              Groups alone;
              std::size_t first = 0;
              const OptionEntry& option = add_option(alone, {std::string(line.text)}, first, describe);
              const auto& [name, values] = alone.given().front();
              check_values(option, values);
              groups.add(name, values.front());
            } catch (const InputError& error) {
              throw line.error(fmt::format("is wrong: {}", error.what()));
            }
          },
          TextFile::Comments::kWholeLines);
  return std::move(groups.given());
}

/// Appends `by` to `given`, and removes the options there that it replaces.
void override_with(Given& given, Given by) {
  std::erase_if(given, [&](const auto& option) { return replaced_by(option.first, by); });
  std::ranges::move(by, std::back_inserter(given));
}

}  // namespace

Given read_options(const std::vector<std::string>& args, const Describe& describe) {
  Given files;
  Groups line;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i].starts_with('@')) {
      (void)add_option(line, args, i, describe);
      continue;
    }
    line.interrupt();
    override_with(files, read_file(args[i], describe));
  }
  override_with(files, std::move(line.given()));
  return files;
}

bool replaced_by(std::string_view name, const Given& given) {
  const auto is_end_of_run = [](std::string_view option) { return option == "time" || option == "ops"; };
  return std::ranges::any_of(
      given, [&](const auto& own) { return own.first == name || (is_end_of_run(own.first) && is_end_of_run(name)); });
}

std::vector<std::string> words_of(const Given& given) {
  std::vector<std::string> words;
  for (const auto& [name, values] : given) {
    for (const std::string& value : values)
      words.push_back(value.empty() ? "--" + name : fmt::format("--{}={}", name, value));
  }
  return words;
}

ProgressMode parse_progress(const std::optional<std::string>& text) {
  if (!text || *text == "auto") return ProgressMode::kAuto;
  if (*text == "plain") return ProgressMode::kPlain;
  if (*text == "none") return ProgressMode::kNone;
  throw InputError(fmt::format("--progress: there is no '{}'; write auto, plain or none{}", *text,
                               suggestion(*text, {"auto", "plain", "none"})));
}

}  // namespace latchlab
