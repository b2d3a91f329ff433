#include "src/testing/key_patterns.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "src/base/hash.h"
#include "src/base/rng.h"

namespace latchlab::testing {

namespace {

std::string number(u64 value) {
  std::string key(8, '\0');
  for (u32 i = 0; i < 8; ++i) key[i] = static_cast<char>(value >> (56 - 8 * i));
  return key;
}

void add(std::vector<KeyPattern>& patterns, std::string name, std::vector<std::string> keys, Rng& rng) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  std::shuffle(keys.begin(), keys.end(), rng);
  patterns.push_back({std::move(name), std::move(keys)});
}

constexpr u8 kEnds[] = {0x00, 0x01, 0x02, 0x7f, 0x80, 0xfe, 0xff};

/// Returns the first eight bytes of keys of this length, 16 or more, whose other bytes up to the sixteenth have no
/// influence on hash_bytes: the factor to which it adds these eight becomes 0.
std::string start_of_equal_hashes(u64 length) {
  constexpr u64 kLeft = 0x9e3779b97f4a7c15ull;  // hash_bytes has it
  const u64 word = mix64(mix64(kLeft) + length) ^ kLeft;
  return {reinterpret_cast<const char*>(&word), sizeof word};
}

u8 any_end(Rng& rng) { return kEnds[rng.below(std::size(kEnds))]; }

}  // namespace

std::string shown(std::string_view key) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : key.substr(0, 24)) {
    const u8 byte = static_cast<u8>(c);
    if (byte > ' ' && byte < 0x7f && byte != '\\') {
      text += c;
    } else {
      text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return text + (key.size() > 24 ? "...\" of " + std::to_string(key.size()) + " bytes" : "\"");
}

std::vector<KeyPattern> number_patterns(u64 seed) {
  Rng rng(seed);
  std::vector<KeyPattern> patterns;
  std::vector<std::string> keys;
  const auto flush = [&](std::string name) { add(patterns, std::move(name), std::exchange(keys, {}), rng); };

  for (u64 i = 0; i < 600; ++i) keys.push_back(number(i));
  flush("dense");
  for (u64 i = 0; i < 300; ++i) keys.push_back(number(~i));
  flush("dense at the end");
  for (u32 i = 0; i < 400; ++i) keys.push_back(number(rng()));
  for (const u64 end : {u64{0}, u64{1}, ~u64{0}, ~u64{0} - 1, u64{1} << 63}) keys.push_back(number(end));
  flush("sparse");
  for (u32 level = 0; level < 8; ++level) {
    // All 256 children of one node; the paths above and below it are random and compressed.
    const u64 path = rng();
    const u32 shift = 56 - 8 * level;
    for (u64 byte = 0; byte < 256; ++byte) keys.push_back(number((path & ~(u64{0xff} << shift)) | byte << shift));
    flush("fan at level " + std::to_string(level));
  }
  {
    // Nodes of 60 children, one below the other, with no compressed path between them.
    const u64 path = rng();
    for (u32 level = 0; level < 6; ++level) {
      const u32 shift = 56 - 8 * level;
      for (u64 byte = 0; byte < 60; ++byte) keys.push_back(number(path ^ byte << shift));
    }
    flush("fans below one another");
  }
  for (u32 shared = 0; shared < 8; ++shared) {
    // Groups of up to seven keys that share this many bytes, so that leaves fill and split.
    const u64 tail = shared == 0 ? ~u64{0} : ~u64{0} >> (8 * shared);
    for (u32 group = 0; group < 12; ++group) {
      const u64 path = rng();
      for (u32 i = 0; i < 1 + group % 7; ++i) keys.push_back(number((path & ~tail) | (rng() & tail)));
    }
    flush("leaves that share " + std::to_string(shared) + " bytes");
  }
  for (u32 group = 0; group < 6; ++group) {
    // Paths that part at every byte: a deep node, one key off its path at each level above, and keys that differ in the
    // last bits.
    const u64 path = rng();
    for (u64 i = 0; i < 6; ++i) keys.push_back(number(path ^ i));
    for (u32 bit = 0; bit < 64; bit += 3) keys.push_back(number(path ^ u64{1} << bit));
  }
  flush("paths that part everywhere");
  for (u32 i = 0; i < 500; ++i) {
    std::string key(8, '\0');
    for (char& c : key) c = static_cast<char>(any_end(rng));
    keys.push_back(key);
  }
  flush("bytes from the ends of their range");
  return patterns;
}

std::vector<KeyPattern> string_patterns(u64 seed) {
  Rng rng(seed);
  std::vector<KeyPattern> patterns;
  std::vector<std::string> keys;
  const auto flush = [&](std::string name) { add(patterns, std::move(name), std::exchange(keys, {}), rng); };

  for (u32 length = 0; length < 40; ++length) {
    keys.push_back(std::string(length, 'a'));
    for (const u8 end : kEnds) keys.push_back(std::string(length, 'a') + static_cast<char>(end));
  }
  flush("each a prefix of the next");
  for (u32 length = 0; length < 12; ++length) {
    for (const u8 byte : {0x00, 0x01, 0x02, 0xff}) keys.push_back(std::string(length, static_cast<char>(byte)));
  }
  flush("runs of one byte");
  // A path much longer than the part that a node stores, and keys that leave it at every position, also within the part
  // that is skipped.
  const std::string path(60, 'p');
  for (const char* end : {"a", "b", "ca", "cb", ""}) keys.push_back(path + end);
  for (u32 at = 0; at < path.size(); ++at) {
    std::string other = path;
    other[at] = at % 2 == 0 ? 'o' : 'q';
    keys.push_back(other);
    keys.push_back(path.substr(0, at));
  }
  flush("off a long path everywhere");
  for (u32 i = 0; i < 500; ++i) {
    std::string key(rng.below(10), '\0');
    for (char& c : key) c = static_cast<char>(any_end(rng));
    keys.push_back(key);
  }
  flush("short strings of few bytes");
  for (u32 i = 0; i < 400; ++i) {
    // Words of one to four syllables, so that many share prefixes of several lengths.
    static constexpr std::string_view kSyllables[] = {"inter", "con", "trans", "act", "ion",
                                                      "latch", "lab", "s",     "ing", "un"};
    std::string key;
    for (u64 left = 1 + rng.below(4); left > 0; --left) key += kSyllables[rng.below(std::size(kSyllables))];
    keys.push_back(key);
  }
  flush("words");
  for (u32 byte = 0; byte < 256; ++byte) {
    keys.push_back(std::string("some path ") + static_cast<char>(byte));
    keys.push_back(std::string("some path ") + static_cast<char>(byte) + " and on");
  }
  flush("fan of strings");
  for (const u64 length : {16u, 17u, 40u, 65'536u}) {
    const std::string start = start_of_equal_hashes(length), rest(length - 16, 'r');
    for (u32 i = 0; i < (length > 100 ? 4 : 40); ++i) {
      std::string middle(8, '\0');
      for (char& c : middle) c = static_cast<char>(i < 3 ? kEnds[i] : any_end(rng));
      keys.push_back(start + middle + rest);
    }
  }
  flush("equal hashes");
  const std::string huge(70'000, 'x');  // the length needs more than 16 bits
  for (const u32 at : {0u, 5u, 40'000u, 69'990u, 69'999u}) {
    std::string other = huge;
    other[at] = 'y';
    keys.push_back(other);
    keys.push_back(huge.substr(0, at));
  }
  keys.push_back(huge);
  keys.push_back(std::string(30'000, '\0'));
  keys.push_back(std::string(30'000, '\1') + "a");
  flush("huge");
  return patterns;
}

std::vector<std::string> with_neighbours(const std::vector<std::string>& keys, bool numbers) {
  std::vector<std::string> all = keys;
  for (const std::string& key : keys) {
    if (numbers) {
      // One less, one more, the ends of the subtree of the last two bytes, and a number in another subtree.
      u64 value = 0;
      for (const char c : key) value = value << 8 | static_cast<u8>(c);
      for (const u64 other : {value - 1, value + 1, value & ~u64{0xffff}, value | 0xffff, value ^ u64{1} << 40}) {
        all.push_back(number(other));
      }
    } else {
      if (key.size() > 1000) continue;
      all.push_back(key + '\0');
      if (key.empty()) continue;
      all.push_back(key.substr(0, key.size() - 1));
      for (const int step : {-1, 1}) {
        std::string other = key;
        other[other.size() / 2] = static_cast<char>(other[other.size() / 2] + step);
        all.push_back(other);
      }
    }
  }
  return all;
}

}  // namespace latchlab::testing
