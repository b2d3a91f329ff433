#include "harness/cli/completion.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "harness/cli/options.h"
#include "harness/commands/list.h"
#include "harness/config/config.h"
#include "harness/config/registry.h"
#include "src/testing/catch.h"

namespace latchlab {
namespace {

TEST_CASE("completion offers what is typed, not the placeholders of a topic") {
  const TopicEntries topic{.topic = "words",
                           .option = "--word",
                           .entries = {{"1M, fixed:1M", ""},
                                       {"email:N, url:N", ""},
                                       {"ycsb-a ... ycsb-c", ""},
                                       {"hotspot:F,hits=S", ""},
                                       {"trace, trace:2", ""},
                                       {"interleave:pin", ""},
                                       {"  period=10s", "an option"},
                                       {"", "goes on"},
                                       {"arena+touch", ""},
                                       {"NAME", ""}}};
  CHECK(typed_words(topic) == std::vector<std::string>{"fixed:", "email:", "url:", "ycsb-a", "ycsb-b", "ycsb-c",
                                                       "hotspot:", "trace", "trace:", "interleave:pin", "arena+touch"});
}

TEST_CASE("an option takes the words that completion offers for it") {
  Config config;
  std::size_t taken = 0;
  const auto take_words = [&](const OptionEntry& option, const std::vector<std::string>& words) {
    CHECK_FALSE(words.empty());
    for (const std::string& word : words) {
      if (word.ends_with(':')) continue;  // more must follow
      CAPTURE(option.name, word);
      CHECK_NOTHROW(option.apply(config, word));
      ++taken;
    }
  };
  for (const TopicEntries& topic : list_entries(Registry())) {
    // An empty registry has no indexes and no policies.
    if (topic.topic == "indexes" || topic.topic == "policies" || !topic.option.starts_with("--")) continue;
    take_words(option_row(topic.option.substr(2)), typed_words(topic));
  }
  for (const OptionEntry& option : option_rows()) {
    if (option.words.empty() || option.apply == nullptr) continue;
    std::vector<std::string> words{""};
    for (const char c : option.words) c == ' ' ? words.emplace_back() : words.back() += c;
    take_words(option, words);
  }
  CHECK(taken > 40);
}

TEST_CASE("the completion script has every command and every option of help") {
  const std::string script = completion_script(Registry());
  CHECK_THAT(script, !Catch::Contains("%VALUES%") && !Catch::Contains("%COMMANDS%"));
  CHECK_THAT(script, Catch::Contains("ab) words+=\" --a= --b= --c= --replicates=\" ;;"));  // not those of a run again
  CHECK_THAT(script, !Catch::Contains(" -- ") && !Catch::Contains(" --\""));
  for (const CommandEntry& command : command_rows()) CHECK_THAT(script, Catch::Contains(std::string(command.name)));
  for (const OptionEntry& option : option_rows()) {
    const std::string typed = fmt::format("--{}{}", option.name, option.metavar.empty() ? "" : "=");
    CAPTURE(typed);
    CHECK((script.find(typed) != std::string::npos) == !option.meaning.empty());
  }
}

}  // namespace
}  // namespace latchlab
