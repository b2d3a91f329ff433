#include "harness/cli/man_page.h"

#include <string_view>

#include <fmt/format.h>

#include "harness/cli/options.h"
#include "harness/commands/list.h"
#include "harness/result/build_info.h"

namespace latchlab {

namespace {

/// Returns text in which roff sees no request, escape or hyphenation point.
std::string plain(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'' && !line_begins) {
      out += "\\(aq";
    } else if (c == '"') {
      out += "\\(dq";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", plain(text)); }

std::string italic(std::string_view text) { return text.empty() ? "" : fmt::format("\\fI{}\\fR", plain(text)); }

/// Returns a term with its text in a hanging paragraph.
std::string tagged(const std::string& term, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", term, text);
}

std::string command_lines() {
  std::string out = ".nf\n";
  for (const CommandEntry& row : command_rows())
    out += fmt::format("{}{}{}\n", bold("harness"), row.name.empty() ? "" : " " + bold(row.name),
                       row.arguments.empty() ? "" : " " + plain(row.arguments));
  return out + ".fi\n";
}

std::string commands() {
  std::string out;
  for (const CommandEntry& row : command_rows()) {
    const std::string_view term = row.name.empty() ? row.arguments : row.name;
    out += tagged(bold(term), plain(row.meaning));
    if (!row.more.empty()) out += fmt::format(".br\n{}", plain(row.more));
  }
  return out;
}

std::string options() {
  std::string out;
  for (const OptionEntry& row : option_rows()) {
    if (row.meaning.empty()) continue;
    const std::string name = fmt::format("--{}{}", row.name, row.metavar.empty() ? "" : "=");
    const std::string standard = row.standard.empty() ? "" : fmt::format(" ({})", row.standard);
    out += tagged(bold(name) + italic(row.metavar), plain(std::string(row.meaning) + standard));
  }
  return out;
}

std::string topics(const Registry& registry) {
  std::string out;
  for (const TopicEntries& topic : list_entries(registry)) {
    out += fmt::format(".SS {} ({})\n", plain(topic.topic), plain(topic.option));
    std::string words;  // without a meaning
    for (const auto& [word, meaning] : topic.entries) {
      if (word.empty()) {
        out += plain(meaning) + '\n';
      } else if (meaning.empty()) {
        words += (words.empty() ? "" : ", ") + word;
      } else {
        out += tagged(bold(std::string_view(word).substr(word.find_first_not_of(' '))), plain(meaning));
      }
    }
    if (!words.empty())
      out += fmt::format("{}: {}\n", plain(fmt::format("harness list {} describes them", topic.topic)), plain(words));
  }
  return out;
}

}  // namespace

std::string man_page(const Registry& registry) {
  std::string_view status = notes_on_exit_status();
  status.remove_prefix(std::string_view("Exit status: ").size());
  return fmt::format(
      ".\\\" The target help_texts writes this page from the harness's own tables. Do not edit it.\n"
      ".TH HARNESS 1 \"\" \"latchlab {}\" \"Latchlab\"\n"
      ".SH NAME\nharness \\- measures concurrent in\\-memory indexes\n"
      ".SH SYNOPSIS\n{}"
      ".SH COMMANDS\n{}"
      ".SH OPTIONS OF A RUN\n{}"
      ".SH VALUES\n{}"
      ".SH WORDS OF THE COMMAND LINE\n{}"
      ".SH EXIT STATUS\n{}",
      plain(version()), command_lines(), commands(), options(), plain(notes_on_values()), topics(registry),
      plain(status));
}

}  // namespace latchlab
