#include "src/wire/resp.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "src/wire/numbers.h"

namespace latchlab {

namespace {

constexpr std::string_view kBadArrayLength = "-ERR Protocol error: invalid multibulk length\r\n";
constexpr std::string_view kBadBulkLength = "-ERR Protocol error: invalid bulk length\r\n";
constexpr std::string_view kLongArrayLine = "-ERR Protocol error: too big mbulk count string\r\n";
constexpr std::string_view kLongBulkLine = "-ERR Protocol error: too big bulk count string\r\n";
constexpr std::string_view kLongInline = "-ERR Protocol error: too big inline request\r\n";
constexpr std::string_view kUnbalanced = "-ERR Protocol error: unbalanced quotes in request\r\n";
constexpr std::string_view kTooBig = "-ERR Protocol error: too big request\r\n";

/// Returns the number in redis' strict form: no plus sign, no zeros in front.
std::optional<i64> strict_number(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.starts_with('0') && text != "0") return std::nullopt;
  return number_in<i64>(text);
}

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

/// Returns the byte that a backslash and this letter stand for in double quotes.
char escaped(char letter) {
  switch (letter) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'b': return '\b';
    case 'a': return '\a';
    default: return letter;
  }
}

/// The words of an inline command, one after the other, without their quotes.
class InlineWords {
 public:
  explicit InlineWords(std::string_view line) : rest_(line) {}

  /// Appends the next word to `out`. Returns false at the end of the line, and after a quote that is wrong.
  bool next(std::string& out) {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    if (rest_.empty() || unbalanced_) return false;
    while (!rest_.empty() && !is_blank(rest_.front()) && !unbalanced_) {
      const char c = take();
      if (c == '"' || c == '\'') {
        take_quoted(c, out);
      } else {
        out += c;
      }
    }
    return true;
  }

  /// Returns true if a quote was not closed, or no blank followed it.
  [[nodiscard]] bool unbalanced() const { return unbalanced_; }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  void take_quoted(char quote, std::string& out) {
    while (!rest_.empty()) {
      const char c = take();
      if (c == quote) {
        unbalanced_ = !rest_.empty() && !is_blank(rest_.front());
        return;
      }
      if (c != '\\' || rest_.empty() || (quote == '\'' && rest_.front() != '\'')) {
        out += c;
        continue;
      }
      if (quote == '"' && rest_.size() >= 3 && rest_[0] == 'x') {
        const auto high = hex_digit(rest_[1]), low = hex_digit(rest_[2]);
        if (high && low) {
          out += static_cast<char>(*high << 4 | *low);
          rest_.remove_prefix(3);
          continue;
        }
      }
      out += quote == '"' ? escaped(take()) : take();
    }
    unbalanced_ = true;
  }

  std::string_view rest_;
  bool unbalanced_ = false;
};

}  // namespace

Parsed RespParser::fail(std::string_view answer, std::string_view input) {
  at_ = scanned_ = missing_ = 0;
  return Parsed::fatal(answer, input);
}

Parsed RespParser::needs(std::string_view input, std::size_t size) {
  return size > limits_.most_command_bytes ? fail(kTooBig, input) : Parsed::needs(size);
}

Parsed RespParser::parse(std::string_view input, RespCommand& command) {
  command.base_ = input.data();
  command.pieces_.clear();
  if (at_ != 0) command.pieces_ = std::move(pieces_);
  const Parsed parsed = parse_any(input, command);
  if (parsed.status == ParseStatus::kNeedsMore && at_ != 0) {
    pieces_ = std::move(command.pieces_);
    command.pieces_.clear();
  }
  return parsed;
}

Parsed RespParser::parse_any(std::string_view input, RespCommand& command) {
  if (input.empty()) return Parsed::needs(1);
  const Parsed parsed = input.front() == '*' ? parse_array(input, command) : parse_inline(input, command);
  if (parsed.status != ParseStatus::kCommand) return parsed;
  if (parsed.used > limits_.most_command_bytes) return fail(kTooBig, input);
  at_ = scanned_ = missing_ = 0;
  return parsed;
}

Parsed RespParser::parse_inline(std::string_view input, RespCommand& command) {
  const std::size_t end = input.find('\n', scanned_);
  std::size_t line_bytes = std::min(end, input.size());
  if (line_bytes > 0 && input[line_bytes - 1] == '\r') --line_bytes;
  if (line_bytes > limits_.most_inline_bytes) return fail(kLongInline, input);
  if (end == std::string_view::npos) {
    scanned_ = input.size();
    return needs(input, input.size() + 1);
  }
  const std::string_view line = input.substr(0, line_bytes);
  if (line.find_first_of("\"'") == std::string_view::npos) {
    // No quotes, so that every word is a view into the input.
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t begin = at;
      while (at < line.size() && !is_blank(line[at])) ++at;
      if (at > begin) command.pieces_.push_back({begin, at - begin});
      while (at < line.size() && is_blank(line[at])) ++at;
    }
  } else {
    command.unquoted_.clear();
    InlineWords words(line);
    for (std::size_t begin = 0; words.next(command.unquoted_); begin = command.unquoted_.size()) {
      command.pieces_.push_back({begin, command.unquoted_.size() - begin});
    }
    if (words.unbalanced()) return fail(kUnbalanced, input);
    command.base_ = nullptr;
  }
  // A browser that was tricked into speaking to this port gets nothing that it could read.
  if (command.size() > 1 && command[command.size() - 1].starts_with("HTTP/")) return fail("", input);
  return Parsed::command(end + 1);
}

Parsed RespParser::parse_array(std::string_view input, RespCommand& command) {
  while (true) {
    // The line in front of the words, or of one word.
    const bool of_array = at_ == 0;
    if (at_ >= input.size()) return needs(input, input.size() + 1);
    if (!of_array && input[at_] != '$') {
      error_ = "-ERR Protocol error: expected '$', got ' '\r\n";
      if (input[at_] != '\r' && input[at_] != '\n') error_[error_.size() - 4] = input[at_];
      return fail(error_, input);
    }
    const std::size_t end = input.find('\r', at_ + scanned_);
    const std::size_t line_bytes = std::min(end, input.size()) - at_;
    if (line_bytes > limits_.most_inline_bytes) return fail(of_array ? kLongArrayLine : kLongBulkLine, input);
    if (end == std::string_view::npos || end + kLineEnd.size() > input.size()) {
      scanned_ = line_bytes;
      return needs(input, end == std::string_view::npos ? input.size() + 1 : end + kLineEnd.size());
    }
    const auto number = strict_number(input.substr(at_ + 1, line_bytes - 1));
    const std::size_t text_at = end + kLineEnd.size();
    if (text_at > limits_.most_command_bytes) return fail(kTooBig, input);
    if (of_array) {
      if (!number || *number > static_cast<i64>(limits_.most_arguments)) return fail(kBadArrayLength, input);
      if (*number <= 0) return Parsed::command(text_at);
      missing_ = static_cast<std::size_t>(*number);
      at_ = text_at;
      scanned_ = 0;
      continue;
    }
    if (!number || *number < 0 || *number > static_cast<i64>(limits_.most_bulk_bytes))
      return fail(kBadBulkLength, input);
    const std::size_t bytes = static_cast<std::size_t>(*number), text_end = text_at + bytes + kLineEnd.size();
    if (text_end > limits_.most_command_bytes) return fail(kTooBig, input);
    if (input.size() < text_end) {
      scanned_ = line_bytes;
      return Parsed::needs(text_end);
    }
    command.pieces_.push_back({text_at, bytes});
    at_ = text_end;
    scanned_ = 0;
    if (--missing_ == 0) return Parsed::command(text_end);
  }
}

void RespWriter::head(char type, std::size_t number) {
  out_ += type;
  append_number(out_, number);
  out_ += kLineEnd;
}

void RespWriter::simple(std::string_view text) { out_.append("+").append(text).append(kLineEnd); }

void RespWriter::error(std::string_view text) {
  out_ += '-';
  for (const char c : text) out_ += c == '\r' || c == '\n' ? ' ' : c;
  out_ += kLineEnd;
}

void RespWriter::integer(i64 number) {
  out_ += ':';
  append_number(out_, number);
  out_ += kLineEnd;
}

void RespWriter::bulk(std::string_view bytes) {
  bulk_head(bytes.size());
  out_.append(bytes).append(kLineEnd);
}

void RespWriter::bulk_head(std::size_t bytes) { head('$', bytes); }

void RespWriter::null() { out_ += version_ == RespVersion::kResp3 ? "_\r\n" : "$-1\r\n"; }

void RespWriter::array(std::size_t elements) { head('*', elements); }

void RespWriter::map(std::size_t pairs) {
  if (version_ == RespVersion::kResp3) return head('%', pairs);
  head('*', 2 * pairs);
}

void RespWriter::real(double number) {
  char text[32];  // the longest double has 24 characters
  const std::string_view digits(text, std::to_chars(std::begin(text), std::end(text), number).ptr);
  if (version_ == RespVersion::kResp2) return bulk(digits);
  out_.append(",").append(digits).append(kLineEnd);
}

void RespWriter::verbatim(std::string_view format, std::string_view text) {
  if (version_ == RespVersion::kResp2) return bulk(text);
  head('=', format.size() + 1 + text.size());
  out_.append(format).append(":").append(text).append(kLineEnd);
}

}  // namespace latchlab
