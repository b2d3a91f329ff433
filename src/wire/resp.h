#pragma once

// The server side of redis' protocol, RESP2 and RESP3: from bytes to commands, and rendering of answers. The client's
// side is in resp_client.h. What the words of a command mean is the server's business.
//
//     *2 \r\n  $3 \r\n GET \r\n  $1 \r\n a \r\n        an array of bulk strings
//     GET a \r\n                                       an inline command; words may stand in quotes
//
// The rules are those of redis 7.0: the texts of its errors, after each of which the connection closes, and its
// leniency. It does not look at the byte after \r, nor at the two bytes after a bulk string. We differ in three rules.
// A limit on a whole command has an error of its own. An inline command over its limit is refused even if its end has
// come already. An inline command that ends as a request of HTTP does closes the connection without an answer; redis
// does so for two of its words.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/types.h"
#include "src/wire/parsed.h"

namespace latchlab {

/// The words of one command. They are views into the parsed input, except for an inline command with quotes: then the
/// words are in the command itself. Either way they are valid until the caller moves the input or parses again.
class RespCommand {
 public:
  [[nodiscard]] std::size_t size() const { return pieces_.size(); }
  /// Returns word i, which is below size().
  [[nodiscard]] std::string_view operator[](std::size_t i) const {
    const char* const base = base_ == nullptr ? unquoted_.data() : base_;
    return {base + pieces_[i].offset, pieces_[i].size};
  }

 private:
  friend class RespParser;
  struct Piece {
    std::size_t offset, size;
  };

  const char* base_ = nullptr;  ///< the beginning of the input; null: the words are in unquoted_
  std::vector<Piece> pieces_;
  std::string unquoted_;
};

struct RespLimits {
  std::size_t most_arguments = 1'048'576;                 ///< redis: 2^31 - 1 since 7.0, this many before
  std::size_t most_bulk_bytes = std::size_t{512} << 20;   ///< redis: proto-max-bulk-len
  std::size_t most_inline_bytes = std::size_t{64} << 10;  ///< an inline command, and a line that holds a length
  std::size_t most_command_bytes = std::size_t{1} << 30;  ///< a whole command; redis: client-query-buffer-limit
};

/// The parser of one connection.
///
/// A command may come in many pieces, so the parser remembers how far it got, and the words so far. The caller passes
/// the same bytes and more until the command is complete; they may have moved. Many connections can share one
/// RespCommand. A length that a client announces costs no memory: only words that have come do.
class RespParser {
 public:
  RespParser() = default;
  explicit RespParser(const RespLimits& limits) : limits_(limits) {}

  /// Parses one command at the front of the input. A command without words asks for nothing: an empty line, *0, *-1.
  /// Every error closes the connection. O(new bytes), and O(words) for a command that is complete.
  [[nodiscard]] Parsed parse(std::string_view input, RespCommand& command);

 private:
  [[nodiscard]] Parsed parse_any(std::string_view input, RespCommand& command);
  [[nodiscard]] Parsed parse_inline(std::string_view input, RespCommand& command);
  [[nodiscard]] Parsed parse_array(std::string_view input, RespCommand& command);
  [[nodiscard]] Parsed fail(std::string_view answer, std::string_view input);
  [[nodiscard]] Parsed needs(std::string_view input, std::size_t size);

  RespLimits limits_;
  std::size_t at_ = 0;                      ///< the first byte that no finished part of the command has used
  std::size_t scanned_ = 0;                 ///< bytes from at_ on, among which no line ends
  std::size_t missing_ = 0;                 ///< words that the array has yet to bring
  std::vector<RespCommand::Piece> pieces_;  ///< the words of a command that is not complete
  std::string error_;
};

enum class RespVersion : u8 { kResp2 = 2, kResp3 = 3 };

/// A renderer of answers: appends them to a string in one version of the protocol. In RESP2 the types that only RESP3
/// has become what redis sends instead. An array, map or set consists of its head and then the elements, by further
/// calls.
class RespWriter {
 public:
  RespWriter(std::string& out, RespVersion version) : out_(out), version_(version) {}

  /// Appends a line of text, which has no line ends: +OK.
  void simple(std::string_view text);
  /// Appends an error. The text begins with a code ("ERR", "WRONGTYPE"); line ends in it become blanks, since the text
  /// may quote what a client sent.
  void error(std::string_view text);
  void integer(i64 number);
  /// Appends a string of any bytes.
  void bulk(std::string_view bytes);
  /// Appends the line in front of a string of this size. The bytes and a line end follow: the caller sends them.
  void bulk_head(std::size_t bytes);
  /// Appends the answer for what is not there. RESP2: $-1.
  void null();
  void array(std::size_t elements);
  /// Begins a map: a key and a value follow for each pair. RESP2: an array of both.
  void map(std::size_t pairs);
  /// RESP2: a string.
  void real(double number);
  /// Appends text for people. `format` has three letters: txt or mkd. RESP2: a string.
  void verbatim(std::string_view format, std::string_view text);

 private:
  void head(char type, std::size_t number);

  std::string& out_;
  RespVersion version_;
};

}  // namespace latchlab
