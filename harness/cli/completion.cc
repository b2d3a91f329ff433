#include "harness/cli/completion.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/options.h"

namespace latchlab {

namespace {

// %NAMES% are replaced. A candidate is a whole word, as zsh wants it. Bash replaces only what stands behind the last
// = or :, and inside quotes all that stands behind the quote: that part is the function's second argument.
constexpr std::string_view kScript =
    R"script(# Completion of harness: bash sources this file, and zsh after `autoload -U bashcompinit && bashcompinit`.
# The target help_texts writes it from the harness's own tables. Do not edit it.

_harness() {
  [ -z "${ZSH_VERSION-}" ] || emulate -L ksh
  local replaced=${2-} command=${COMP_WORDS[1]-} IFS=$' \t\n'
  local word value candidate kept="" words=""
  word=${COMP_LINE:0:$COMP_POINT}
  word=${word##*[[:space:]\"\']}
  COMPREPLY=()
  case $word in
    --*=*)
      value=${word#*=}
      case ${word%%=*} in
%VALUES%
      esac
      # In a list, a word stands behind a brace or a comma.
      case $word in --pmu=* | *=\{*) kept=${value%"${value##*[\{,]}"} ;; esac
      kept=${word%%=*}=$kept
      ;;
    -*)
      case $command in
%OPTIONS%
        -* | @* | ab) words="%RUN%" ;;
      esac
      case $command in ab) words+=" %AB%" ;; esac
      [ "$COMP_CWORD" != 1 ] || words+=" --help --version"
      ;;
    @*) ;;
    *)
      case $COMP_CWORD:$command in
        1:*) words="%COMMANDS%" ;;
        2:list) words="%TOPICS%" ;;
        2:help) words="%COMMANDS% %TOPICS%" ;;
        2:trace) words="convert info" ;;
        3:trace) words="%FORMATS%" ;;
      esac
      ;;
  esac
  for candidate in $words; do
    candidate=$kept$candidate
    case $candidate in "$word"*) ;; *) continue ;; esac
    case $word in
      *"$replaced") candidate=${candidate#"${word%"$replaced"}"} ;;
      *) candidate=${replaced%"$word"}$candidate ;;
    esac
    COMPREPLY+=("$candidate")
  done
  # No blank follows a word or a list that goes on. Zsh has no compopt.
  case "${#COMPREPLY[@]}:$kept ${COMPREPLY[0]-}" in 1:*[=:] | 1:*[\{,]" "*) compopt -o nospace 2>/dev/null || : ;; esac
}

if [ -n "${ZSH_VERSION-}" ]; then
  complete -o nospace -o default -F _harness harness
else
  complete -o default -F _harness harness
fi
)script";

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

/// Returns the options that the help of a command shows, as they are typed.
std::vector<std::string> options_in(std::string_view help) {
  std::vector<std::string> found;
  for (std::size_t at = help.find("--"); at != std::string_view::npos; at = help.find("--", at)) {
    std::size_t end = at + 2;
    while (end < help.size() && (std::islower(static_cast<unsigned char>(help[end])) || help[end] == '-')) ++end;
    if (end < help.size() && help[end] == '=') ++end;
    std::string option(help.substr(at, end - at));
    const bool is_named = option != "--";  // which separates, as in `experiment NAME -- OPTIONS`
    if (is_named && std::ranges::find(found, option) == found.end()) found.push_back(std::move(option));
    at = end;
  }
  return found;
}

std::string replaced(std::string text, const std::vector<std::pair<std::string_view, std::string>>& names) {
  for (const auto& [name, by] : names) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + by.size()))
      text.replace(at, name.size(), by);
  }
  return text;
}

/// Adds what is typed for a word of a topic: "zipf:" for "zipf:Q".
void add_typed(std::string word, std::vector<std::string>& words) {
  const std::size_t colon = word.find(':');
  if (colon != std::string::npos) {
    const std::string_view rest = std::string_view(word).substr(colon + 1);
    const bool is_word = std::ranges::all_of(rest, [](unsigned char c) { return std::islower(c) != 0; });
    if (!is_word) word.resize(colon + 1);
  }
  if (std::islower(static_cast<unsigned char>(word.front())) && std::ranges::find(words, word) == words.end())
    words.push_back(std::move(word));
}

}  // namespace

std::vector<std::string> typed_words(const TopicEntries& topic) {
  std::vector<std::string> words;
  for (const TopicEntries::Entry& entry : topic.entries) {
    if (entry.word.empty() || entry.word.front() == ' ') continue;
    if (const std::size_t dots = entry.word.find(" ... "); dots != std::string::npos) {
      for (std::string word = entry.word.substr(0, dots); word.back() <= entry.word.back(); ++word.back())
        add_typed(word, words);
      continue;
    }
    std::size_t from = 0;
    for (std::size_t end = 0; end != std::string::npos; from = end + 2) {
      end = entry.word.find(", ", from);
      add_typed(entry.word.substr(from, end - from), words);
    }
  }
  return words;
}

std::string completion_script(const Registry& registry) {
  std::vector<std::string> values, options, run, ab, commands, formats;
  const auto add_values = [&](std::string_view option, const std::string& words) {
    values.push_back(fmt::format("        {}) words=\"{}\" ;;", option, words));
  };
  for (const TopicEntries& topic : list_entries(registry)) {
    if (topic.option.starts_with("--")) {
      add_values(topic.option, joined(typed_words(topic)));
    } else {
      formats = typed_words(topic);
    }
  }
  for (const OptionEntry& row : option_rows()) {
    if (row.meaning.empty()) continue;
    run.push_back(fmt::format("--{}{}", row.name, row.metavar.empty() ? "" : "="));
    if (!row.words.empty()) add_values(fmt::format("--{}", row.name), std::string(row.words));
  }
  for (const CommandEntry& row : command_rows()) {
    if (row.name.empty()) continue;
    commands.emplace_back(row.name);
    std::vector<std::string> own = options_in(fmt::format("{} {}", row.arguments, row.more));
    if (row.name == "ab") {
      std::erase_if(own, [&](const std::string& option) { return std::ranges::find(run, option) != run.end(); });
      ab = std::move(own);
    } else if (!own.empty()) {
      options.push_back(fmt::format("        {}) words=\"{}\" ;;", row.name, joined(own)));
    }
  }
  return replaced(std::string(kScript), {{"%VALUES%", fmt::format("{}", fmt::join(values, "\n"))},
                                         {"%OPTIONS%", fmt::format("{}", fmt::join(options, "\n"))},
                                         {"%RUN%", joined(run)},
                                         {"%AB%", joined(ab)},
                                         {"%COMMANDS%", joined(commands)},
                                         {"%TOPICS%", joined(list_topics())},
                                         {"%FORMATS%", joined(formats)}});
}

}  // namespace latchlab
