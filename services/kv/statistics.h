#pragma once

// The statistics of a server as text: memcached's `stats`, redis' INFO, and Prometheus' metrics.

#include <string>
#include <string_view>

#include "services/kv/server.h"

namespace latchlab::kv {

/// Appends the answer of memcached's `stats`, with the words after it.
void append_memcached_stats(std::string& out, const Desk& desk, std::string_view words);

/// Returns the text of redis' INFO.
[[nodiscard]] std::string redis_info(const Desk& desk);

/// Returns all counts in Prometheus' text format.
[[nodiscard]] std::string prometheus_text(const Server& server, Moment now);

}  // namespace latchlab::kv
