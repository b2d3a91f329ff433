#include "harness/text/flame_graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace latchlab {

namespace {

// In units of the picture, which are pixels at a width of 1280.
constexpr double kPictureWidth = 1280, kPictureMargin = 10, kRowHeight = 18, kLetterWidth = 7.25, kLeastBox = 0.4;
constexpr double kDrawnWidth = kPictureWidth - 2 * kPictureMargin;

constexpr std::string_view kNested = "_ZN";  // begins the mangled name of a function within a namespace or class

/// A function below its callers: all samples that have the same stack down to it.
struct Box {
  using Key = std::pair<std::string, std::string>;  // short and whole name

  StackFrame::Where where = StackFrame::Where::kProgram;
  u64 samples = 0;
  std::map<Key, Box> callees;
};

Box tree_of(const std::vector<SampledStack>& stacks) {
  Box root;
  for (const SampledStack& stack : stacks) {
    root.samples += stack.samples;
    Box* box = &root;
    for (const StackFrame& frame : stack.frames) {
      box = &box->callees[{short_function(frame.function), frame.function}];
      box->where = frame.where;
      box->samples += stack.samples;
    }
  }
  return root;
}

double width_of(u64 samples, u64 all) { return kDrawnWidth * static_cast<double>(samples) / static_cast<double>(all); }

/// Returns the rows of boxes that are wide enough to be drawn.
std::size_t height_of(const Box& box, u64 all) {
  std::size_t most = 0;
  for (const auto& [name, callee] : box.callees) {
    if (width_of(callee.samples, all) >= kLeastBox) most = std::max(most, height_of(callee, all));
  }
  return most + 1;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < ' ' ? '?' : c;  // XML has no control characters
    }
  }
  return out;
}

/// Returns as much of a name as fits into a box; empty if that says nothing.
std::string fitting(const std::string& name, double width) {
  const std::size_t letters = width <= 6 ? 0 : static_cast<std::size_t>((width - 6) / kLetterWidth);
  if (name.size() <= letters) return name;
  return letters < 5 ? "" : name.substr(0, letters - 2) + "..";
}

/// Returns the class of a box: a letter for the place of its code and one of three shades, which depends on its name.
std::string class_of(StackFrame::Where where, std::string_view name) {
  u32 hash = 2'166'136'261;  // FNV-1a; std::hash may differ between libraries, and the picture must not
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619;
  return fmt::format("{}{}", "plk"[static_cast<std::size_t>(where)], (hash >> 16) % 3);
}

class Picture {
 public:
  Picture(const Box& root, const std::vector<std::string>& lines)
      : all_(root.samples),
        base_(kPictureMargin + kRowHeight * static_cast<double>(height_of(root, root.samples) - 1)) {
    draw(root, "all samples", "all samples", 0, 0);
    double y = base_ + kRowHeight + 8;
    for (const std::string& line : lines) {
      y += kRowHeight;
      body_ += fmt::format("<text class=\"line\" x=\"{}\" y=\"{:.0f}\">{}</text>\n", kPictureMargin, y, escaped(line));
    }
    height_ = y + kPictureMargin;
  }

  [[nodiscard]] std::string text() const {
    return fmt::format(
        R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1:.0f}" width="{0}" height="{1:.0f}">
<style>
svg {{ background: #fff; max-width: 100%; height: auto; }}
text {{ font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #000; }}
.line {{ font-family: system-ui, "DejaVu Sans", sans-serif; }}
rect {{ stroke: #fff; stroke-width: 0.5; }}
g:hover > rect {{ stroke: #000; stroke-width: 1.5; }}
.p0 {{ fill: #f6b26b; }} .p1 {{ fill: #f9c78f; }} .p2 {{ fill: #f3d58a; }}
.l0 {{ fill: #a9d18e; }} .l1 {{ fill: #bcdba6; }} .l2 {{ fill: #cfe6bf; }}
.k0 {{ fill: #a4c2f4; }} .k1 {{ fill: #b7cef6; }} .k2 {{ fill: #cadbf8; }}
@media screen and (prefers-color-scheme: dark) {{
svg {{ background: #181818; }} text {{ fill: #f2f2f2; }} rect {{ stroke: #181818; }} g:hover > rect {{ stroke: #fff; }}
.p0 {{ fill: #8a4b12; }} .p1 {{ fill: #7a4517; }} .p2 {{ fill: #6e5014; }}
.l0 {{ fill: #2f5e22; }} .l1 {{ fill: #2b5330; }} .l2 {{ fill: #3b5a1f; }}
.k0 {{ fill: #274b86; }} .k1 {{ fill: #2c4474; }} .k2 {{ fill: #334f6e; }}
}}
</style>
{2}</svg>
)",
        kPictureWidth, height_, body_);
  }

 private:
  void draw(const Box& box, const std::string& name, const std::string& whole, u64 before, std::size_t row) {
    const double x = kPictureMargin + width_of(before, all_), width = width_of(box.samples, all_);
    if (width < kLeastBox) return;  // what stands on it is no wider
    const double y = base_ - kRowHeight * static_cast<double>(row);
    body_ +=
        fmt::format("<g><title>{}\n{} sample{}, {:.1f} %</title>", escaped(whole), box.samples,
                    box.samples == 1 ? "" : "s", 100 * static_cast<double>(box.samples) / static_cast<double>(all_));
    body_ += fmt::format(R"(<rect class="{}" x="{:.2f}" y="{:.0f}" width="{:.2f}" height="{:.0f}"/>)",
                         class_of(box.where, name), x, y, width, kRowHeight);
    if (const std::string shown = fitting(name, width); !shown.empty()) {
      body_ += fmt::format(R"(<text x="{:.2f}" y="{:.0f}">{}</text>)", x + 3, y + 13, escaped(shown));
    }
    body_ += "</g>\n";
    for (const auto& [key, callee] : box.callees) {
      draw(callee, key.first, key.second, before, row + 1);
      before += callee.samples;
    }
  }

  const u64 all_;
  const double base_;  // top of the lowest row
  double height_ = 0;
  std::string body_;
};

/// Returns where the group that `open` begins at `at` ends, behind its last character.
std::size_t end_of_group(std::string_view text, std::size_t at, char open, char close) {
  std::size_t depth = 0;
  for (; at < text.size(); ++at) {
    depth += text[at] == open;
    if (text[at] == close && !(close == '>' && at > 0 && text[at - 1] == '-') && --depth == 0) return at + 1;
  }
  return text.size();
}

/// Returns the beginning of a mangled name, up to the first arguments of a template: "_ZN8latchlab6EpochsI..." is
/// "Epochs<...>". g++ mangles some lambdas in a way that no library reads.
std::string short_mangled(std::string_view mangled) {
  constexpr std::string_view kDigits = "0123456789";
  std::string out;
  mangled.remove_prefix(kNested.size());
  for (;;) {
    std::size_t length = 0;
    while (!mangled.empty() && kDigits.find(mangled[0]) != std::string_view::npos && length < 100'000) {
      length = 10 * length + kDigits.find(mangled[0]);
      mangled.remove_prefix(1);
    }
    if (length == 0 || mangled.empty()) break;
    const std::string_view word = mangled.substr(0, length);
    mangled.remove_prefix(word.size());
    if (word != "latchlab") out += out.empty() ? std::string(word) : "::" + std::string(word);
  }
  return mangled.starts_with('I') ? out + "<...>" : out;
}

/// Returns how long the name of an operator is at the beginning of `text`; 0 if there is none.
std::size_t length_of_operator(std::string_view text) {
  constexpr std::string_view kOperator = "operator";
  if (!text.starts_with(kOperator)) return 0;
  const std::string_view symbol = text.substr(kOperator.size());
  if (symbol.starts_with(' ')) return std::min(text.find('('), text.size());  // operator new, or a conversion
  for (const std::string_view known :
       {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "==", "!=",
        "&&", "||", "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "<",
        ">",  "=",  "+",   "-",   "*",   "/",   "%",  "&",  "|",  "^",  "~",  "!",  ","}) {
    if (symbol.starts_with(known)) return kOperator.size() + known.size();
  }
  return 0;  // a name that begins with "operator"
}

}  // namespace

std::string short_function(std::string_view function) {
  if (function.starts_with(kNested)) {
    if (std::string name = short_mangled(function); !name.empty()) return name;
  }
  constexpr std::string_view kAnonymous = "(anonymous namespace)", kOurs = "latchlab::";
  std::string out;
  std::size_t word = 0;  // begin of the name in `out`, behind a return type
  for (std::size_t i = 0; i < function.size();) {
    const std::string_view rest = function.substr(i);
    const bool at_word = i == 0 || std::string_view(": <(*&").find(function[i - 1]) != std::string_view::npos;
    if (at_word && rest.starts_with(kOurs)) {
      i += kOurs.size();
    } else if (rest.starts_with(kAnonymous)) {
      i += kAnonymous.size();
      if (function.substr(i).starts_with("::")) i += 2;
    } else if (const std::size_t length = at_word ? length_of_operator(rest) : 0; length > 0) {
      out += rest.substr(0, length);
      i += length;
      if (function.substr(i).starts_with(" <")) ++i;  // as in "operator< <int>"
    } else if (rest[0] == '<') {
      out += "<...>";
      i = end_of_group(function, i, '<', '>');
    } else if (rest[0] == '(') {
      if (std::string_view(out).ends_with("decltype") || std::string_view(out).ends_with("decltype ")) {
        i = end_of_group(function, i, '(', ')');  // a return type
        continue;
      }
      // Parameters end the name, unless it goes on with a local function: "f(int)::{lambda(int)#1}::operator()".
      i = end_of_group(function, i, '(', ')');
      std::string_view behind = function.substr(i);
      if (behind.starts_with(" const")) behind.remove_prefix(6);
      if (!behind.starts_with("::")) break;
      i = function.size() - behind.size();
    } else if (rest[0] == '{') {
      const std::size_t end = end_of_group(function, i, '{', '}');
      out += rest.starts_with("{lambda") ? "{lambda}" : std::string(function.substr(i, end - i));
      i = end;
    } else {
      if (rest[0] == ' ') word = out.size() + 1;
      out += rest[0];
      ++i;
    }
  }
  return out.size() > word ? out.substr(word) : std::string(function);
}

std::string flame_graph(const std::vector<SampledStack>& stacks, const std::vector<std::string>& lines) {
  const Box root = tree_of(stacks);
  return Picture(root, lines).text();
}

}  // namespace latchlab
