#include "harness/result/report.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>

#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "harness/result/read_fields.h"
#include "harness/result/schema.h"
#include "src/base/hash.h"

namespace latchlab {

Json document_of(const RunResult& result) { return to_json(result); }

RunResult result_of(const Json& document) {
  RunResult result;
  read_json(document, result);
  return result;
}

std::string result_schema() { return schema_text("result.schema.json", "Result of one run", schema_of<RunResult>()); }

std::string point_hash(const Plan& plan) { return fmt::format("{:016x}", hash_bytes(point_of(plan), 0)); }

void identify(RunResult& result) {
  static std::atomic<u32> counter{0};  // relaxed below: its values only have to differ
  const auto now = std::chrono::system_clock::now();
  const auto since_epoch = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count();
  const std::tm utc = fmt::gmtime(static_cast<std::time_t>(since_epoch / 1'000'000));
  result.started = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", utc, since_epoch % 1'000'000);
  // The host is in the hash: two machines may start runs with equal process numbers in the same microsecond.
  char host[256] = {};
  (void)gethostname(host, sizeof host - 1);
  result.run_id =
      fmt::format("{:%Y%m%dT%H%M%S}-{:08x}-{}-{}", utc, hash_bytes(host, static_cast<u64>(since_epoch)) >> 32, getpid(),
                  counter.fetch_add(1, kRelaxed));
  result.point_hash = point_hash(result.plan);
}

void print(const std::string& text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw OutputError(fmt::format("cannot write to stdout: {}", std::strerror(errno)));
  }
}

}  // namespace latchlab
