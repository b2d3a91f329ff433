#include "workloads/mix.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/batching.h"
#include "src/base/error.h"
#include "src/base/quantity.h"

namespace latchlab {

namespace {

constexpr u64 kLongestScan = 65'535;

struct NamedMix {
  std::string_view name, shares, distribution;
};
constexpr NamedMix kNamedMixes[] = {
    {"ycsb-a", "mix:read=50,update=50", "zipf:0.99"},
    {"ycsb-b", "mix:read=95,update=5", "zipf:0.99"},
    {"ycsb-c", "mix:read=100", "zipf:0.99"},
    {"ycsb-d", "mix:read=95,insert=5", "latest:0.99"},
    {"ycsb-e", "mix:scan=95,insert=5,scan_length=1-100", "zipf:0.99"},
    {"ycsb-f", "mix:read=50,rmw=50", "zipf:0.99"},
};

std::size_t kind_of(std::string_view name) {
  return static_cast<std::size_t>(std::find(kWords<OpKind>.begin(), kWords<OpKind>.end(), name) -
                                  kWords<OpKind>.begin());
}

/// Returns floor(count * ppm / million) without overflow.
u64 part(u64 count, u32 ppm) { return count / Mix::kMillion * ppm + count % Mix::kMillion * ppm / Mix::kMillion; }

}  // namespace

Mix::Mix(const Spec& spec, double negative) {
  constexpr std::size_t kRead = static_cast<std::size_t>(OpKind::kRead);
  const auto named = std::ranges::find(kNamedMixes, spec.name, &NamedMix::name);
  if (spec.name == "mix") {
    if (spec.arg) {
      throw InputError(fmt::format("workload mix: '{}' is not a share such as read=90", *spec.arg));
    }
    read_shares(spec);
  } else if (named != std::end(kNamedMixes)) {
    SpecReader(spec, "workload " + spec.name).finish();
    read_shares(Spec::parse(named->shares));
    usual_distribution_ = named->distribution;
  } else if (spec.name == "lookup" || spec.name == "insert") {
    SpecReader(spec, "workload " + spec.name).finish();
    fills_ = spec.name == "insert";
    ppm_[fills_ ? kInsert : kRead] = kMillion;
  } else {
    throw unknown(spec.name, {});
  }

  if (!(negative >= 0 && negative <= 1)) {
    throw InputError(fmt::format("negative={} must be a share from 0 to 1 of the reads", negative));
  }
  ppm_[kAbsentRead] = static_cast<u32>(std::lround(ppm_[kRead] * negative));
  ppm_[kRead] -= ppm_[kAbsentRead];
  settle();
}

bool Mix::knows(std::string_view name) {
  return name == "lookup" || name == "insert" || name == "mix" ||
         std::ranges::find(kNamedMixes, name, &NamedMix::name) != std::end(kNamedMixes);
}

InputError Mix::unknown(std::string_view name, const std::vector<std::string>& also) {
  std::vector<std::string> words{"lookup", "insert", "mix"};
  for (const NamedMix& mix : kNamedMixes) words.emplace_back(mix.name);
  words.insert(words.end(), also.begin(), also.end());
  std::string files;
  for (const std::string& one : also) files += fmt::format("{}{}:FILE", &one == &also.back() ? " and " : ", ", one);
  return InputError(
      fmt::format("unknown workload '{}'; there are lookup, insert, mix:read=90,insert=10{}ycsb-a to ycsb-f{}{}", name,
                  also.empty() ? " and " : ", ", files, suggestion(std::string(name), words)));
}

Mix Mix::of(const std::array<u64, kOpKinds>& counts) {
  Mix mix;
  const double all = static_cast<double>(std::accumulate(counts.begin(), counts.end(), u64{0}));
  u32 given = 0;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    if (counts[kind] == 0) continue;
    mix.ppm_[kind] = std::max(1u, static_cast<u32>(std::lround(static_cast<double>(counts[kind]) / all * kMillion)));
    given += mix.ppm_[kind];
  }
  *std::ranges::max_element(mix.ppm_) += kMillion - given;
  mix.settle();
  return mix;
}

void Mix::settle() { commonest_ = static_cast<std::size_t>(std::max_element(ppm_.begin(), ppm_.end()) - ppm_.begin()); }

void Mix::read_shares(const Spec& spec) {
  double sum = 0;
  bool scan_length_given = false, keys_given = false;
  for (const auto& [name, text] : spec.options) {
    if (name == "scan_length") {
      read_scan_length(text);
      scan_length_given = true;
      continue;
    }
    if (name == "multi_get_keys") {
      read_multi_get_keys(text);
      keys_given = true;
      continue;
    }
    const std::size_t kind = kind_of(name);
    if (kind == kOpKinds) {
      std::vector<std::string> known(kWords<OpKind>.begin(), kWords<OpKind>.end());
      known.insert(known.end(), {"scan_length", "multi_get_keys"});
      throw InputError(fmt::format("workload mix has no option '{}'; it has {}{}", name, fmt::join(known, ", "),
                                   suggestion(name, known)));
    }
    const std::optional<double> value = parse_double(text);
    if (!value || *value < 0 || *value > 100) {
      throw InputError(fmt::format("workload mix: {}={} must be a percentage from 0 to 100", name, text));
    }
    ppm_[kind] = static_cast<u32>(std::lround(*value * 1e4));
    if (*value > 0 && ppm_[kind] == 0) {
      throw InputError(fmt::format("workload mix: {}={} is less than the smallest share, 0.0001 percent", name, text));
    }
    sum += *value;
  }
  if (std::abs(sum - 100) > 1e-9) {
    throw InputError(fmt::format("workload mix: the shares sum to {}, not to 100 percent", sum));
  }
  // Shares with more than four decimals are rounded. The largest share absorbs the difference.
  u32 rounded = 0;
  for (const u32 ppm : ppm_) rounded += ppm;
  *std::max_element(ppm_.begin(), ppm_.end()) += kMillion - rounded;
  if (scan_length_given && !has(OpKind::kScan))
    throw InputError("workload mix: scan_length has no effect without a share of scan");
  if (keys_given && !has(OpKind::kMultiGet))
    throw InputError("workload mix: multi_get_keys has no effect without a share of multi_get");
}

void Mix::read_multi_get_keys(const std::string& text) {
  const std::optional<Scaled> count = count_of(text);
  if (!count || !count->fits || count->value < 1 || count->value > kMostInCall) {
    throw InputError(
        fmt::format("workload mix: multi_get_keys={} must be a whole number from 1 to {}", text, kMostInCall));
  }
  multi_get_keys_ = static_cast<u16>(count->value);
}

/// Reads N, or N-M.
void Mix::read_scan_length(const std::string& text) {
  const std::size_t dash = text.find('-');
  const auto length = [&](std::string_view digits) -> u16 {
    const std::optional<Scaled> count = count_of(digits);
    if (!count || !count->fits || count->value < 1 || count->value > kLongestScan) {
      throw InputError(
          fmt::format("workload mix: scan_length={} must be a whole number from 1 to {}, or two of them: 1-100", text,
                      kLongestScan));
    }
    return static_cast<u16>(count->value);
  };
  shortest_scan_ = length(std::string_view(text).substr(0, dash));
  longest_scan_ = dash == std::string::npos ? shortest_scan_ : length(std::string_view(text).substr(dash + 1));
  if (shortest_scan_ > longest_scan_) {
    throw InputError(fmt::format("workload mix: scan_length={} is empty: the first number is larger", text));
  }
}

u32 Mix::ppm(OpKind kind) const {
  const u32 absent = kind == OpKind::kRead ? ppm_[kAbsentRead] : 0;
  return ppm_[static_cast<std::size_t>(kind)] + absent;
}

bool Mix::changes() const {
  bool any = false;
  for (u8 kind = 0; kind < kOpKinds; ++kind) any |= has(OpKind{kind}) && about(OpKind{kind}).changes();
  return any;
}

std::vector<std::pair<std::string, double>> Mix::shares() const {
  std::vector<std::pair<std::string, double>> result;
  for (std::size_t kind = 0; kind < kOpKinds; ++kind) {
    const u32 share = ppm(static_cast<OpKind>(kind));
    if (share > 0) result.emplace_back(kWords<OpKind>[kind], share / static_cast<double>(kMillion));
  }
  return result;
}

u64 Mix::before(u64 block, std::size_t scheduled) const {
  const u64 ops = block * kBlock;
  if (scheduled != commonest_) return part(ops, ppm_[scheduled]);
  u64 others = 0;
  for (std::size_t kind = 0; kind < kScheduled; ++kind) {
    if (kind != commonest_) others += part(ops, ppm_[kind]);
  }
  return ops - others;
}

std::size_t Mix::only() const { return ppm_[commonest_] == kMillion ? commonest_ : kScheduled; }

}  // namespace latchlab
