#pragma once

// The client side of redis' protocol: requests as text, and answers parsed, of RESP2 and RESP3.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/types.h"
#include "src/wire/parsed.h"

namespace latchlab {

/// Appends a command as an array of bulk strings. The words may have any bytes. O(size of the text).
void append_resp_request(std::string& out, std::span<const std::string_view> words);

/// Appends the beginning of a command of `words` words. append_resp_word follows for each.
void append_resp_head(std::string& out, std::size_t words);
void append_resp_word(std::string& out, std::string_view word);

/// The kind of a value is the byte that it begins with, but for a null, which has three forms.
enum class RespKind : char {
  kSimple = '+',
  kError = '-',
  kInteger = ':',
  kBulk = '$',
  kArray = '*',
  kNull = '_',
  kBoolean = '#',
  kDouble = ',',
  kBigNumber = '(',
  kBulkError = '!',
  kVerbatim = '=',
  kMap = '%',
  kSet = '~',
  kPush = '>',
  kAttribute = '|',
};

struct RespValue {
  RespKind kind = RespKind::kNull;
  /// The bytes of a string, an error, a big number or a verbatim text with its format in front ("txt:..."). A view into
  /// the input.
  std::string_view text = {};
  i64 integer = 0;           ///< of an integer; 1 or 0 for a boolean
  double real = 0;           ///< of a double
  std::size_t elements = 0;  ///< of an array, set or push: values that follow; of a map or attribute: pairs
};

/// The most arrays, maps and so on inside each other.
inline constexpr std::size_t kMostRespDepth = 16;

struct RespAnswerLimits {
  std::size_t most_bulk_bytes = std::size_t{512} << 20;
  std::size_t most_values = std::size_t{1} << 20;  ///< values of one answer, nested ones included
  std::size_t most_line_bytes = std::size_t{64} << 10;
};

/// Parses one answer at the front of the input. `values` gets the answer and what is nested in it, in the order of the
/// wire: a head, then its elements. An attribute stands in front of the value that it belongs to. The caller reuses the
/// vector, so that it grows once. An error means that the other side does not speak the protocol; its `answer` is the
/// reason. O(bytes used): an answer that is not complete is parsed from its beginning again.
[[nodiscard]] Parsed parse_resp_answer(std::string_view input, const RespAnswerLimits& limits,
                                       std::vector<RespValue>& values);

}  // namespace latchlab
