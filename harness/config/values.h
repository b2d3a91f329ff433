#pragma once

// The parsers of option values: counts, durations, processor lists, and the lists and ranges that make one option an
// axis. Every function throws InputError with one line that says what would be right.

#include <string>
#include <string_view>
#include <vector>

#include "harness/config/config.h"
#include "src/base/types.h"

namespace latchlab {

/// Reads a whole number with an optional unit: k K M G T are decimal, Ki Mi Gi Ti binary, so "16M" is 16,000,000. A
/// fraction is fine if the result is whole: "1.5M". Throws unless min <= value <= max. `what` names the option in
/// errors.
[[nodiscard]] u64 parse_count(std::string_view what, std::string_view text, u64 min, u64 max);

/// Reads a duration and returns nanoseconds: "5s", "200ms", "1.5s", "50us", "2min", "0".
[[nodiscard]] u64 parse_duration(std::string_view what, std::string_view text, u64 min_ns, u64 max_ns);

/// Returns the shortest text that parse_duration reads back: "5s", "200ms".
[[nodiscard]] std::string duration_text(u64 ns);

/// Reads a number from 0 to 1.
[[nodiscard]] double parse_share(std::string_view what, std::string_view text);

/// Reads "auto", or a batch size, a power of two up to kMostInAttempt: "16" (side by side), "16:rolling", "16:in-turn".
[[nodiscard]] Batching parse_batch(std::string_view text);
/// Reads the size of a value in bytes, at most kMostValueBytes.
[[nodiscard]] u32 parse_value_size(std::string_view text);
/// Returns n if one call in n is timed, 0 for "off", 1 for "all". "sample:SHARE" takes a share within 2 % of 1/n, n at
/// most a million.
[[nodiscard]] u32 parse_latency(std::string_view text);

/// Reads compact, scatter, cluster:0-1, socket:0 or list:0-3,5. placement.h checks that the processors exist.
[[nodiscard]] Pin parse_pin(std::string_view text);

/// Reads first-touch, local, interleave, interleave:pin or bind:0-1. Does not check that the nodes exist.
[[nodiscard]] Mem parse_mem(std::string_view text);

/// Returns the points of an axis, from all values given for its option. An option may be given several times, since a
/// shell expands an unquoted brace list to that.
///
///   {a,b,c}      a list, which may also stand inside a value: rtm:{0,3,20}, wiscer:{high-churn,read-mostly}
///   1..8         a range; 1..9+2 adds (1 3 5 7 9), 1..56*2 multiplies (1 2 4 8 16 32); no step means +1.
///                It ends with the last value that is not beyond the second number. Both numbers may have the same
///                unit: 1M..16M*4. A range may also stand after a colon or an equals sign: rtm:0..20+5,
///                mix:read=50..90+20,..
///
/// Commas separate both the points of a list and the options of a spec. So two kinds of pieces belong to the spec
/// before them: key=value, and digits after `list:`, `cluster:`, `socket:` or `bind:`.
///
///   {rtm:20,wait=0,none}   is   rtm:20,wait=0   and   none
///   {compact,list:0-1,3}   is   compact         and   list:0-1,3
///
/// A path (file:...) that stands alone is split only by braces with a comma in them, and has no ranges. In a list a
/// comma ends a path. There are at most 100,000 points.
[[nodiscard]] std::vector<std::string> expand_axis(std::string_view what, const std::vector<std::string>& values);

}  // namespace latchlab
