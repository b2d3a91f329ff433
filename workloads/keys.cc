#include "workloads/keys.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "src/arch/wide.h"
#include "src/base/error.h"
#include "workloads/made_up.h"
#include "workloads/streams.h"
#include "workloads/text_file.h"
#include "workloads/trace.h"

namespace latchlab {

namespace {

/// Returns a string with which no key ends: a single byte if one will do, else the shortest that the pigeonhole
/// principle guarantees.
std::string suffix_without_key(const std::vector<std::string_view>& keys) {
  // '~' comes first: then absent keys of a text are text too, and sort after the key that they extend.
  std::vector<bool> ends(256);
  for (const std::string_view key : keys) ends[static_cast<u8>(key.back())] = true;
  for (int step = 0; step < 256; ++step) {
    const u8 byte = static_cast<u8>('~' - step);
    if (!ends[byte]) return std::string(1, static_cast<char>(byte));
  }
  for (std::size_t length = 2;; ++length) {
    // If there are fewer endings than strings of this length, one string is free. At length 8 that holds always, since
    // keys.size() < 256^8.
    std::vector<u64> endings;
    for (const std::string_view key : keys) {
      if (key.size() < length) continue;
      u64 ending = 0;
      for (const char c : key.substr(key.size() - length)) ending = ending << 8 | static_cast<u8>(c);
      endings.push_back(ending);
    }
    std::sort(endings.begin(), endings.end());
    u64 free = 0;
    for (const u64 ending : endings) {
      if (ending == free) ++free;
    }
    if (length < sizeof(u64) && free >> (8 * length) != 0) continue;
    std::string suffix;
    for (std::size_t at = length; at-- > 0;) suffix.push_back(static_cast<char>(free >> (8 * at)));
    return suffix;
  }
}

}  // namespace

/// Calls `loop` with the function that makes a key of a number, if that is pure arithmetic. Returns false otherwise.
/// Each kind gets a loop of its own, without a branch on the kind.
bool KeySet::by_arithmetic(auto loop) const {
  switch (kind_) {
    case Kind::kSparse: loop([offset = offset_](u64 n) { return stafford64(n + offset); }); return true;
    case Kind::kStride: loop([stride = stride_, offset = offset_](u64 n) { return n * stride + offset; }); return true;
    default: return false;
  }
}

void KeySet::put_all(std::span<Op> ops, std::span<const u64> numbers) const {
  const u64 mask = numbers_ - 1, absent_bit = numbers_;
  const bool done = by_arithmetic([=](auto key_of) {  // copies stay in registers, since no store can change them
    for (std::size_t i = 0; i < ops.size(); ++i) {
      ops[i].key = key_of((numbers[i] & mask) | (absent_bit & -u64{ops[i].absent}));
    }
  });
  if (done) return;
  for (std::size_t i = 0; i < ops.size(); ++i) ops[i].absent ? put_absent(ops[i], numbers[i]) : put(ops[i], numbers[i]);
}

void KeySet::put_keys(std::span<u64> numbers, bool absent) const {
  const u64 mask = numbers_ - 1, absent_bit = absent ? numbers_ : 0;
  const bool done = by_arithmetic([=](auto key_of) {
    transform_in_wide_vectors(numbers, [=](u64 number) { return key_of((number & mask) | absent_bit); });
  });
  if (done) return;
  for (u64& number : numbers) {
    Op op;
    absent ? put_absent(op, number) : put(op, number);
    number = op.key;
  }
}

void KeySet::make(const Spec& spec, u64 seed, u64 memory) {
  if (spec.name == "file" || spec.name == "sosd") {
    if (!spec.arg) {
      const std::string_view example = spec.name == "file" ? "/usr/share/dict/words" : "books_200M_uint64";
      throw InputError(fmt::format("keys {0}: needs a path, as in --keys={0}:{1}", spec.name, example));
    }
    if (spec.name == "sosd") return take_sosd(*spec.arg, seed, memory);
    from_lines_ = true;
    RegularFile file("key", *spec.arg);
    if (file.size() > memory / 2) {  // for the file, and the keys side by side
      throw file.error(fmt::format("has {}, of which two copies are in memory for a while; {} are available",
                                   gigabytes(file.size()), gigabytes(memory)));
    }
    return take_lines(fmt::format("key file '{}'", *spec.arg), file.contents(), seed);
  }
  if (spec.name == "trace") {
    if (!spec.arg) throw InputError("keys trace: needs a path, as in --keys=trace:cluster37.trace");
    return take_trace(*spec.arg);
  }
  SpecReader reader(spec, "keys " + spec.name);
  offset_ = draw(seed, kKeyStream, 0);
  if (spec.name == "dense") {
    kind_ = Kind::kStride;
    offset_ = 0;
    in_order_ = reader.flag("in_order", false);
  } else if (spec.name == "stride") {
    kind_ = Kind::kStride;
    if (!spec.arg) throw InputError("keys stride: needs a number, as in --keys=stride:4096");
    stride_ = reader.arg_u64(1, 1, ~u64{0});
    offset_ = 0;
    numbers_ >>= std::countr_zero(stride_);
  } else if (spec.name == "affine") {
    kind_ = Kind::kStride;
    stride_ = draw(seed, kKeyStream, 1) | 1;
    in_order_ = reader.flag("in_order", false);
  } else if (spec.name == "clustered") {
    kind_ = Kind::kClustered;
    const u64 run = reader.arg_u64(64, 2, u64{1} << 32);
    if (!std::has_single_bit(run)) {
      throw InputError(fmt::format("keys clustered: {} is not a power of two, as in clustered:64", run));
    }
    run_bits_ = std::countr_zero(run);
    place_ = Bijection(u64{1} << (64 - run_bits_), seed, kLineStream);
  } else if (spec.name == "email" || spec.name == "url") {
    constexpr u64 kBytesPerKey = 100;  // a lower bound: a line, a key, and the data about each
    const u64 count = reader.arg_u64(1'000'000, 1, u64{1} << 31);
    reader.finish();
    if (count > memory / kBytesPerKey) {
      throw InputError(fmt::format("keys {}: {} keys take at least {} of memory; {} are available", spec.name, count,
                                   gigabytes(count * kBytesPerKey), gigabytes(memory)));
    }
    return take_lines(spec.name, spec.name == "email" ? made_up_emails(count, seed) : made_up_urls(count, seed), seed);
  } else if (spec.name == "u32") {
    kind_ = Kind::kSparse32;
    numbers_ = u64{1} << 31;
  } else if (spec.name == "u16") {
    kind_ = Kind::kSparse16;
    numbers_ = u64{1} << 15;
  } else if (spec.name != "u64") {
    const std::vector<std::string> words{"u64",       "u32",  "u16",  "dense", "stride", "affine",
                                         "clustered", "file", "sosd", "email", "url",    "trace"};
    throw InputError(
        fmt::format("unknown keys '{}'; there are u64, u32, u16, dense, stride:N, affine, clustered:N, "
                    "file:PATH, sosd:PATH, email:N, url:N and trace:PATH{}",
                    spec.name, suggestion(spec.name, words)));
  }
  reader.finish();
}

void KeySet::take_sosd(const std::string& path, u64 seed, u64 memory) {
  kind_ = Kind::kSosd;
  RegularFile file("SOSD", path);
  const auto fail = [&](const std::string& why) { return file.error(why); };
  u64 count = 0;
  if (file.read({reinterpret_cast<char*>(&count), sizeof(count)}) < sizeof(count)) {
    throw fail(fmt::format("has {} bytes, too few for the count that it begins with", file.size()));
  }
  const u64 there = file.size() / sizeof(u64) - 1;
  if (count != there || file.size() % sizeof(u64) != 0) {
    throw fail(fmt::format("says that it has {} keys, but its {} bytes are {} keys{}", count, file.size(), there,
                           file.size() % sizeof(u64) != 0 ? " and a part" : ""));
  }
  if (count == 0) throw fail("has no key");
  if (file.size() > memory) {
    throw fail(fmt::format("has {}; {} of memory are available", gigabytes(file.size()), gigabytes(memory)));
  }
  sorted_.resize(count);
  const std::size_t bytes = count * sizeof(u64);
  if (file.read({reinterpret_cast<char*>(sorted_.data()), bytes}) < bytes)
    throw fail("became shorter while it was read");
  // The files are sorted, but some repeat keys.
  if (!std::ranges::is_sorted(sorted_)) std::ranges::sort(sorted_);
  sorted_.erase(std::ranges::unique(sorted_).begin(), sorted_.end());
  place_ = Bijection(sorted_.size(), seed, kLineStream);
}

/// Returns the next number after that at `place` that is not in the file, or the previous one if there is no next.
/// O(log of the neighbours in the file).
u64 KeySet::beside(u64 place) const {
  const auto end_of_run = [&](u64 length, auto&& follows) {
    u64 known = 0, step = 1;
    while (known + step < length && follows(known + step)) known += std::exchange(step, 2 * step);
    for (; step > 0; step /= 2) {
      if (known + step < length && follows(known + step)) known += step;
    }
    return known;
  };
  const u64 key = sorted_[place];
  const u64 after = end_of_run(sorted_.size() - place, [&](u64 i) { return sorted_[place + i] == key + i; });
  if (key + after != ~u64{0}) return key + after + 1;
  return key - 1 - end_of_run(place + 1, [&](u64 i) { return sorted_[place - i] == key - i; });
}

/// Takes the keys from lines. `what` names their source in errors.
void KeySet::take_lines(std::string_view what, std::string_view text, u64 seed) {
  kind_ = Kind::kLines;
  std::vector<std::string_view> keys;
  // Open addressing over positions in `keys`; 0 is free. Grown at half full.
  std::vector<u32> table(1024);
  const auto place_of = [&](std::string_view key) -> u32& {
    const u64 mask = table.size() - 1;
    u64 at = hash_bytes(key) & mask;
    while (table[at] != 0 && keys[table[at] - 1] != key) at = (at + 1) & mask;
    return table[at];
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    ++lines_.total;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) {
      ++lines_.empty;
      continue;
    }
    if (line.size() > kLongestKey) {
      throw InputError(
          fmt::format("{}: line {} has {} bytes; a key may have {}", what, lines_.total, line.size(), kLongestKey));
    }
    u32& place = place_of(line);
    if (place != 0) {
      ++lines_.repeated;
      continue;
    }
    if (keys.size() == ~u32{0}) {
      throw InputError(
          fmt::format("{}: line {} is one key more than the {} supported", what, lines_.total, keys.size()));
    }
    keys.push_back(line);
    place = static_cast<u32>(keys.size());
    lines_.key_bytes += line.size();
    lines_.longest = std::max<u64>(lines_.longest, line.size());
    if (keys.size() * 2 > table.size()) {
      table.assign(table.size() * 2, 0);
      for (u32 k = 0; k < keys.size(); ++k) place_of(keys[k]) = k + 1;
    }
  }
  if (keys.empty()) {
    throw InputError(fmt::format("{}: has no key on its {} lines; it needs one key a line", what, lines_.total));
  }

  std::vector<std::string_view> in_order(keys.size());
  const Bijection line_of(keys.size(), seed, kLineStream);
  for (u64 n = 0; n < keys.size(); ++n) in_order[n] = keys[line_of(n)];
  lay_out(in_order);
}

void KeySet::take_trace(const std::string& path) {
  kind_ = Kind::kLines;
  const std::shared_ptr<const Trace> trace = Trace::at(path);
  std::vector<std::string_view> keys;
  keys.reserve(trace->keys());
  for (u64 n = 0; n < trace->keys(); ++n) keys.push_back(trace->key(n));
  lay_out(keys);
}

/// Lays distinct keys side by side, in the order of records, each followed by the suffix.
void KeySet::lay_out(const std::vector<std::string_view>& keys) {
  const std::string suffix = suffix_without_key(keys);
  suffix_bytes_ = static_cast<u32>(suffix.size());
  u64 bytes = 0;
  for (const std::string_view key : keys) bytes += key.size() + suffix.size();
  blob_.reserve(bytes);
  entries_.reserve(keys.size());
  for (const std::string_view key : keys) {
    entries_.push_back({.offset = blob_.size(), .length = static_cast<u32>(key.size())});
    blob_.append(key).append(suffix);
  }
}

}  // namespace latchlab
