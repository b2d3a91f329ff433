#pragma once

// Formats of recorded traces that can be converted into ours (trace.h):
//
//   twitter   one operation a line (Yang, Yue, Rashmi, OSDI 2020): time in seconds, key, key size, value size, client,
//             operation, time to live. get and gets are reads, set and cas upserts, add is an insert, replace an
//             update, delete an erase. append, prepend, incr and decr are modifies: a cache does each in one step, and
//             not at all if the key is absent.
//   meta-kv   a line has one or more operations on one key (CacheLib's key-value traces). The first line names the
//             columns: key, op, and optionally size, op_count, op_time in seconds. GET and GET_LEASE are reads, SET and
//             SET_LEASE upserts, DELETE is an erase.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "workloads/trace.h"

namespace latchlab {

class TraceLines;

struct TraceFormat {
  std::string_view name, meaning;
  std::unique_ptr<TraceLines> (*make)();
};
[[nodiscard]] std::span<const TraceFormat> trace_formats();

/// Reads the file at `path` ("-" is standard input), line by line, into `writer`. Returns true if it has times. The
/// file may be compressed (compressed_input.h). Throws InputError for an unknown format. Throws InputError with the
/// file for a file that is missing or has truncated or corrupt compressed data. Throws InputError with file and line
/// for a line that does not fit the format, or is too long for any.
[[nodiscard]] bool read_trace(std::string_view format, const std::string& path, TraceWriter& writer);

}  // namespace latchlab
