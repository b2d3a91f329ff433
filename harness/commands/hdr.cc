#include "harness/commands/hdr.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/result/document.h"
#include "src/base/error.h"
#include "src/base/spec.h"

namespace latchlab {
namespace {

constexpr u32 kSignificantDigits = 2;
constexpr u32 kSubBuckets = 256;  // HdrHistogram's number for two digits; half of them for every power of two
constexpr u32 kSubBits = 8;

/// Returns the position at which HdrHistogram counts a value.
u64 position_of(u64 value) {
  const u64 bucket = static_cast<u64>(std::bit_width(value | (kSubBuckets - 1))) - kSubBits;
  return (bucket + 1) * (kSubBuckets / 2) + (value >> bucket) - kSubBuckets / 2;
}

/// Appends the lowest `bytes` bytes of a number, big-endian.
void put_number(std::string& out, u64 number, u32 bytes) {
  while (bytes-- > 0) out += static_cast<char>(number >> 8 * bytes);
}

/// Appends a count in ZigZag LEB128: the sign becomes the lowest bit, and each byte has seven bits, the lowest first.
void put_count(std::string& out, i64 count) {
  u64 rest = static_cast<u64>(count) << 1 ^ static_cast<u64>(count >> 63);
  u32 bytes = 1;
  for (; rest > 0x7f && bytes < 9; ++bytes, rest >>= 7) out += static_cast<char>(rest | 0x80);
  out += static_cast<char>(rest);
}

/// Returns the counts in the order of positions. Two zeros or more in a row are one negative number: minus how many
/// they are.
std::string payload_of(const Buckets& buckets) {
  std::string out;
  u64 next = 0;
  for (const auto& [last, count] : buckets) {
    const u64 position = position_of(last);
    if (const u64 zeros = position - next; zeros > 0) put_count(out, zeros == 1 ? 0 : -static_cast<i64>(zeros));
    put_count(out, static_cast<i64>(count));
    next = position + 1;
  }
  return out;
}

/// Returns a zlib stream (RFC 1950) of stored blocks, since a few kilobytes need no compression.
std::string deflated(std::string_view data) {
  constexpr std::size_t kMostInBlock = 65'535;
  std::string out = "\x78\x01";
  u32 low = 1, high = 0;  // Adler-32
  for (const char c : data) {
    low = (low + static_cast<unsigned char>(c)) % 65'521;
    high = (high + low) % 65'521;
  }
  do {
    const std::string_view block = data.substr(0, kMostInBlock);
    data.remove_prefix(block.size());
    out += data.empty() ? '\1' : '\0';
    for (const std::size_t size : {block.size(), ~block.size()}) {
      out += static_cast<char>(size);
      out += static_cast<char>(size >> 8);
    }
    out += block;
  } while (!data.empty());
  put_number(out, u64{high} << 16 | low, 4);
  return out;
}

std::string base64(std::string_view data) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const std::string_view some = data.substr(i, 3);
    u32 word = 0;
    for (std::size_t byte = 0; byte < 3; ++byte) {
      word = word << 8 | (byte < some.size() ? static_cast<unsigned char>(some[byte]) : 0u);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      out += digit <= some.size() ? kDigits[word >> (18 - 6 * digit) & 63] : '=';
    }
  }
  return out;
}

u64 total_of(const Buckets& buckets) {
  u64 total = 0;
  for (const auto& [last, count] : buckets) total += count;
  return total;
}

using NamedBuckets = std::vector<std::pair<std::string, Buckets>>;

/// Returns the histograms of a result with their names. Throws Json::exception if the document has another form.
NamedBuckets histograms_of(const Json& latency) {
  NamedBuckets out;
  const auto add = [&](const std::string& name, const Json& summary) {
    if (summary.is_null()) return;
    Buckets buckets = summary.at("histogram").get<Buckets>();
    if (buckets.empty()) return;
    buckets.back().first = summary.at("max_ns").get<u64>();  // the exact maximum, not the end of its bucket
    out.emplace_back(name, std::move(buckets));
  };
  add("all", latency.at("all"));
  add("all.response", latency.at("response"));
  for (const auto& [kind, of] : latency.at("per_operation").items()) {
    add(kind, of.at("time"));
    add(kind + ".response", of.at("response"));
  }
  add("fell_back", latency.at("fell_back"));
  return out;
}

/// Returns the histograms of a result, and the length of its measured phase in seconds.
std::pair<NamedBuckets, double> read_result(const std::string& path, const Json& result) {
  if (!result.contains("latency") || result["latency"].is_null()) {
    const std::string why = text_at(result, "/latency_reason");
    throw InputError(fmt::format("hdr: '{}' has no latencies: {}", path, why.empty() ? "an older result" : why));
  }
  try {
    return {histograms_of(result["latency"]), result.at("throughput").at("seconds").get<double>()};
  } catch (const Json::exception&) {
    const std::string version = text_at(result, "/schema_version");
    throw InputError(fmt::format("hdr: the latencies of '{}' are not those of a result of schema {}{}", path,
                                 RunResult::kSchemaVersion, version.empty() ? "" : ", but of " + version));
  }
}

}  // namespace

std::string hdr_encoded(const Buckets& buckets) {
  constexpr u32 kCookie = 0x1c849313, kCompressedCookie = 0x1c849314;
  const std::string payload = payload_of(buckets);
  std::string plain;
  put_number(plain, kCookie, 4);
  put_number(plain, payload.size(), 4);
  put_number(plain, 0, 4);  // the index of the first value is 0
  put_number(plain, kSignificantDigits, 4);
  put_number(plain, 1, 8);  // the smallest value that differs from 0
  put_number(plain, buckets.empty() ? 2 : std::max<u64>(buckets.back().first, 2), 8);
  put_number(plain, std::bit_cast<u64>(1.0), 8);  // the unit of values: 1 ns
  plain += payload;
  const std::string packed = deflated(plain);
  std::string out;
  put_number(out, kCompressedCookie, 4);
  put_number(out, packed.size(), 4);
  return base64(out + packed);
}

std::string hdr_percentiles(const Buckets& buckets) {
  constexpr double kStepsPerHalf = 5;
  const u64 total = total_of(buckets);
  std::string text =
      fmt::format("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
  const auto number = [](u64 value) { return static_cast<double>(value); };
  u64 seen = 0;
  double percent = 0, sum = 0, squares = 0;
  for (const auto& [last, count] : buckets) {
    seen += count;
    sum += number(count) * number(last);
    squares += number(count) * number(last) * number(last);
    while (100 * number(seen) / number(total) >= percent) {
      text += fmt::format("{:12.2f} {:14.12f} {:10} {:14.2f}\n", number(last), percent / 100, seen,
                          1 / (1 - percent / 100));
      percent += 100 / (kStepsPerHalf * std::exp2(std::floor(std::log2(100 / (100 - percent))) + 1));
      if (seen == total) break;
    }
  }
  const double most = buckets.empty() ? 0 : number(buckets.back().first), mean = total == 0 ? 0 : sum / number(total);
  const double variance = total == 0 ? 0 : std::max(0.0, squares / number(total) - mean * mean);
  text += fmt::format("{:12.2f} {:14.12f} {:10}\n", most, 1.0, total);
  text += fmt::format("#[Mean    = {:12.2f}, StdDeviation   = {:12.2f}]\n", mean, std::sqrt(variance));
  text += fmt::format("#[Max     = {:12.2f}, Total count    = {:12}]\n", most, total);
  const auto rows = buckets.empty() ? 1 : position_of(buckets.back().first) / (kSubBuckets / 2) + 1;
  return text + fmt::format("#[Buckets = {:12}, SubBuckets     = {:12}]\n", std::max<u64>(rows, 2) - 1, kSubBuckets);
}

std::string hdr(const std::string& path, const std::string& name) {
  std::string log =
      "#[Histogram log format version 1.3]\n"
      "#[Times of calls in ns; Interval_Max in ms]\n"
      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
  std::map<u64, u64> merged;
  std::vector<std::string> names;
  double start = 0;
  for (const Json& result : read_results("hdr", path)) {
    const auto& [histograms, seconds] = read_result(path, result);
    for (const auto& [tag, buckets] : histograms) {
      if (std::find(names.begin(), names.end(), tag) == names.end()) names.push_back(tag);
      const double most = static_cast<double>(buckets.back().first) / 1e6;
      log += fmt::format("Tag={},{:.3f},{:.3f},{:.3f},{}\n", tag, start, seconds, most, hdr_encoded(buckets));
      if (tag != name) continue;
      for (const auto& [last, count] : buckets) merged[last] += count;
    }
    start += seconds;
  }
  if (name.empty()) return log;
  if (merged.empty()) {
    throw InputError(
        fmt::format("hdr: there is no '{}'; there are {}{}", name, fmt::join(names, ", "), suggestion(name, names)));
  }
  return hdr_percentiles({merged.begin(), merged.end()});
}

}  // namespace latchlab
