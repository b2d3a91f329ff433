#pragma once

// Traces that others have recorded, made into ours (trace.h):
//
//   twitter   a line an operation (Yang, Yue, Rashmi, OSDI 2020): time in seconds, key, its size, the value's size,
//             client, operation, time to live. get and gets are reads, set and cas upserts, add is an insert, replace
//             an update, delete an erase; append, prepend, incr and decr are read-modify-writes.
//   meta-kv   a line some operations on a key (CacheLib's key-value traces), columns as its first line names them: key,
//             op, and where they are there size, op_count, op_time in seconds. GET and GET_LEASE are reads, SET and
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

/// Reads the file at `path` ("-" is standard input), line by line, into `writer`; true if it has times. It may be
/// compressed (compressed_input.h). Throws InputError with the file for an unknown format, and a file that is missing
/// or whose compressed data are cut off or corrupt; with the line, too, for a line that is none of its format, or too
/// long for any.
[[nodiscard]] bool read_trace(std::string_view format, const std::string& path, TraceWriter& writer);

}  // namespace latchlab
