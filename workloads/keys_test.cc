#include "workloads/keys.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"
#include "workloads/distribution.h"
#include "workloads/trace.h"
#include "workloads/wiscer.h"

namespace latchlab {
namespace {

using std::string_literals::operator""s;
using Catch::Matchers::Contains;

Spec spec_of(const TemporaryFile& file) { return Spec::parse("file:" + file.path()); }

std::multiset<std::string> all_keys(const KeySet& keys) {
  std::multiset<std::string> all;
  for (u64 n = 0; n < keys.capacity(); ++n) all.emplace(keys.key<std::string_view>(n));
  return all;
}

void check_absent_keys(const KeySet& keys) {
  const std::multiset<std::string> all = all_keys(keys);
  std::set<std::string> absent;
  std::size_t present = 0;
  for (u64 n = 0; n < keys.capacity(); ++n) {
    const std::string key(keys.absent_key<std::string_view>(n));
    present += all.count(key);
    absent.insert(key);
  }
  CHECK(present == 0);
  CHECK(absent.size() == all.size());
}

TEST_CASE("dense keys are the record numbers") {
  const KeySet keys(Spec::parse("dense"), 1);
  CHECK_FALSE(keys.bytes());
  for (const u64 n : {u64{0}, u64{1}, u64{12345}, KeySet::kNumbers - 1}) {
    CHECK(keys.key<u64>(n) == n);
    CHECK(keys.absent_key<u64>(n) >= KeySet::kNumbers);
  }
}

TEST_CASE("sparse keys are distinct, scattered, and depend on the seed") {
  const KeySet keys(Spec::parse("u64"), 1);
  const KeySet others(Spec::parse("u64"), 2);
  std::unordered_set<u64> seen;
  u64 low = ~u64{0};
  u64 high = 0;
  u64 same = 0;
  u64 unmarked = 0;
  constexpr u64 kRecords = 200'000;
  for (u64 n = 0; n < kRecords; ++n) {
    Op op;
    keys.put(op, n);
    unmarked += op.absent || op.key_bytes != 0 || keys.raw<u64>(op) != keys.key<u64>(n);
    seen.insert(op.key);
    low = std::min(low, op.key);
    high = std::max(high, op.key);
    same += op.key == others.key<u64>(n);
    keys.put_absent(op, n);
    unmarked += !op.absent;
    seen.insert(op.key);
  }
  CHECK(seen.size() == 2 * kRecords);
  CHECK(low < ~u64{0} / 10'000);
  CHECK(high > ~u64{0} / 10'000 * 9'999);
  CHECK(same == 0);
  CHECK(unmarked == 0);
}

TEST_CASE("keys of 32 bits and their absent keys are distinct, as far as they go") {
  const KeySet keys(Spec::parse("u32"), test_seed());
  CHECK(keys.capacity() == u64{1} << 31);
  std::unordered_set<u64> seen;
  u64 wide = 0;
  constexpr u64 kRecords = 100'000;
  for (u64 n = 0; n < kRecords; ++n) {
    for (const u64 number : {n, keys.capacity() - 1 - n}) {
      for (const u64 key : {keys.key<u64>(number), keys.absent_key<u64>(number)}) {
        wide += key >> 32 != 0;
        seen.insert(key);
      }
    }
  }
  CHECK(wide == 0);
  CHECK(seen.size() == 4 * kRecords);
  CHECK(keys.key<u64>(keys.capacity() + 5) == keys.key<u64>(5));
}

TEST_CASE("keys of 16 bits are distinct, and their absent keys are all others") {
  const KeySet keys(Spec::parse("u16"), test_seed());
  REQUIRE(keys.capacity() == u64{1} << 15);
  std::unordered_set<u64> seen;
  for (u64 n = 0; n < keys.capacity(); ++n) seen.insert({keys.key<u64>(n), keys.absent_key<u64>(n)});
  CHECK(seen.size() == u64{1} << 16);
  CHECK(*std::ranges::max_element(seen) == 0xffff);
  CHECK(keys.key<u64>(keys.capacity() + 5) == keys.key<u64>(5));
}

TEST_CASE("keys of a stride are its multiples, and half of the distinct multiples are absent") {
  for (const auto& [stride, capacity] : {std::pair{u64{1}, u64{1} << 63},
                                         {4096, u64{1} << 51},
                                         {u64{1} << 32, u64{1} << 31},
                                         {(u64{1} << 32) + 1, u64{1} << 63},
                                         {~u64{0}, u64{1} << 63},
                                         {u64{3} << 60, u64{1} << 3}}) {
    INFO(stride);
    const KeySet keys(Spec::parse("stride:" + std::to_string(stride)), 1);
    REQUIRE(keys.capacity() == capacity);
    std::unordered_set<u64> seen;
    const u64 few = std::min<u64>(capacity, 1000);
    u64 wrong = 0;
    for (u64 n = 0; n < few; ++n) {
      const u64 far = capacity - 1 - n;
      wrong += keys.key<u64>(n) != n * stride || keys.key<u64>(far) != far * stride;
      for (const u64 number : {n, far}) seen.insert({keys.key<u64>(number), keys.absent_key<u64>(number)});
    }
    CHECK(wrong == 0);
    CHECK(seen.size() == (few == capacity ? 2 * few : 4 * few));
  }
  CHECK_THROWS_WITH(KeySet(Spec::parse("stride"), 1), Catch::Matchers::Contains("--keys=stride:4096"));
  CHECK_THROWS_WITH(KeySet(Spec::parse("stride:0"), 1), Catch::Matchers::Contains("from 1 to"));
}

TEST_CASE("a file gives each distinct line as one key, with all bytes except line ends") {
  const TemporaryFile file("apple\nbat\r\n\n\xff\xfe\nbat\napple pie\n\r\nnul\0byte\ntab\there\r\r\n 7 \n7"s);
  const KeySet keys(spec_of(file), 1);
  CHECK(keys.bytes());
  CHECK(keys.capacity() == 8);
  CHECK(all_keys(keys) ==
        std::multiset<std::string>{"apple", "bat", "\xff\xfe", "apple pie", "nul\0byte"s, "tab\there\r", " 7 ", "7"});
  CHECK(keys.lines().total == 11);
  CHECK(keys.lines().empty == 2);
  CHECK(keys.lines().repeated == 1);
  CHECK(keys.lines().longest == 9);
  CHECK(keys.lines().key_bytes == 5 + 3 + 2 + 9 + 8 + 9 + 3 + 1);
  check_absent_keys(keys);
}

TEST_CASE("the seed determines the order of a file's records") {
  std::string text;
  for (int n = 0; n < 1000; ++n) text += std::to_string(n) + "\n";
  const TemporaryFile file(text);
  const KeySet one(spec_of(file), 1);
  const KeySet again(spec_of(file), 1);
  const KeySet other(spec_of(file), 2);
  u64 equal = 0;
  u64 in_place = 0;
  u64 shared = 0;
  for (u64 n = 0; n < 1000; ++n) {
    equal += one.key<std::string_view>(n) == again.key<std::string_view>(n);
    in_place += one.key<std::string_view>(n) == std::to_string(n);
    shared += one.key<std::string_view>(n) == other.key<std::string_view>(n);
  }
  CHECK(equal == 1000);
  CHECK(in_place < 20);
  CHECK(shared < 20);
  CHECK(one.key<std::string_view>(1000) == one.key<std::string_view>(0));
  CHECK(all_keys(one) == all_keys(other));
}

TEST_CASE("absent keys are absent no matter which bytes end the lines") {
  std::string every_byte = "x\n";
  for (int byte = 0; byte < 256; ++byte) {
    if (byte != '\n' && byte != '\r') every_byte += "x"s + static_cast<char>(byte) + "\n";
  }
  SECTION("a few endings") { check_absent_keys(KeySet(spec_of(TemporaryFile("a\na~\nb}\n~\n")), 1)); }
  SECTION("all but the line's ends, which no key can end with") {
    check_absent_keys(KeySet(spec_of(TemporaryFile(every_byte)), 1));
  }
  SECTION("all endings but \\n") { check_absent_keys(KeySet(spec_of(TemporaryFile(every_byte + "x\r\r\n")), 1)); }
}

TEST_CASE("files without keys are refused with the file and the line") {
  const auto load = [](const std::string& path) { return KeySet(Spec::parse("file:" + path), 1).capacity(); };
  CHECK_THROWS_WITH(load("/no/such/file"), Contains("/no/such/file") && Contains("No such file"));
  CHECK_THROWS_WITH(load("/tmp"), Contains("/tmp") && Contains("directory"));
  CHECK_THROWS_WITH(load("/dev/null"), Contains("regular file"));
  CHECK_THROWS_AS(load("/no/such/file"), InputError);
  const TemporaryFile empty("");
  CHECK_THROWS_WITH(load(empty.path()), Contains(empty.path()) && Contains("one key a line"));
  const TemporaryFile blank("\n\r\n\n");
  CHECK_THROWS_WITH(load(blank.path()), Contains("3 lines"));
  const TemporaryFile fits("a\n" + std::string(KeySet::kLongestKey, 'x') + "\r\n");
  CHECK(load(fits.path()) == 2);
  const TemporaryFile too_long("a\n" + std::string(KeySet::kLongestKey + 1, 'x') + "\n");
  CHECK_THROWS_WITH(load(too_long.path()), Contains("line 2") && Contains("65536"));
  if (::geteuid() != 0) {
    const TemporaryFile secret("a\n");
    ::chmod(secret.path().c_str(), 0);
    CHECK_THROWS_WITH(load(secret.path()), Contains("Permission denied"));
  }
}

/// Returns a SOSD file with these numbers, and with their count or another one.
std::string sosd(const std::vector<u64>& keys, std::optional<u64> count = {}) {
  std::string bytes(sizeof(u64) * (keys.size() + 1), '\0');
  const u64 first = count.value_or(keys.size());
  std::memcpy(bytes.data(), &first, sizeof(first));
  if (!keys.empty()) std::memcpy(bytes.data() + sizeof(first), keys.data(), sizeof(u64) * keys.size());
  return bytes;
}

KeySet made(const std::string& text, u64 seed = 1) { return KeySet(Spec::parse(text), seed); }

TEST_CASE("the distinct numbers of a SOSD file are the keys, and the numbers next to them are absent") {
  constexpr u64 kMax = ~u64{0};
  const std::set<u64> numbers{0, 1, 2, 3, 7, 1000, 1001, 1u << 31, kMax - 2, kMax - 1, kMax};
  std::vector<u64> in_file(numbers.begin(), numbers.end());
  std::swap(in_file[1], in_file[5]);  // not all files are sorted
  in_file.push_back(7);
  const TemporaryFile file(sosd(in_file));
  const KeySet keys = made("sosd:" + file.path());
  CHECK_FALSE(keys.bytes());
  REQUIRE(keys.capacity() == numbers.size());
  std::set<u64> seen, absent;
  for (u64 n = 0; n < keys.capacity(); ++n) {
    seen.insert(keys.key<u64>(n));
    absent.insert(keys.absent_key<u64>(n));
  }
  CHECK(seen == numbers);
  CHECK(keys.key<u64>(numbers.size()) == keys.key<u64>(0));
  CHECK(absent == std::set<u64>{4, 8, 1002, (1u << 31) + u64{1}, kMax - 3});
}

TEST_CASE("truncated SOSD files and those with a wrong count are refused") {
  const auto error = [](const std::string& bytes) {
    const TemporaryFile file(bytes);
    return testing::refusal([&] { (void)made("sosd:" + file.path()); });
  };
  CHECK_THAT(error(""), Contains("has 0 bytes, too few for the count"));
  CHECK_THAT(error("1234567"), Contains("has 7 bytes, too few for the count"));
  CHECK_THAT(error(sosd({1, 2, 3}, 4)), Contains("says that it has 4 keys, but its 32 bytes are 3 keys"));
  CHECK_THAT(error(sosd({1, 2, 3}) + "x"), Contains("are 3 keys and a part"));
  CHECK_THAT(error(sosd({1, 2}, ~u64{0})), Contains("but its 24 bytes are 2 keys"));
  CHECK_THAT(error(sosd({})), Contains("has no key"));
  CHECK_THROWS_WITH(made("sosd:/no/such"), Contains("SOSD file '/no/such': No such file"));
}

TEST_CASE("clustered keys are runs of neighbours, and affine keys are all apart") {
  const KeySet clustered = made("clustered:64");
  std::set<u64> keys, runs;
  for (u64 n = 0; n < 64 * 100; ++n) {
    const u64 key = clustered.key<u64>(n);
    keys.insert(key);
    runs.insert(key / 64);
    CHECK(key % 64 == n % 64);
    keys.insert(clustered.absent_key<u64>(n));
  }
  CHECK(keys.size() == 2 * 64 * 100);
  CHECK(runs.size() == 100);
  CHECK(*runs.rbegin() - *runs.begin() > u64{1} << 50);
  CHECK_THROWS_WITH(made("clustered:63"), Contains("63 is not a power of two"));
  CHECK(made("clustered").key<u64>(65) == clustered.key<u64>(65));

  const KeySet affine = made("affine");
  const u64 step = affine.key<u64>(1) - affine.key<u64>(0);
  CHECK(step % 2 == 1);
  CHECK(affine.key<u64>(1000) == affine.key<u64>(0) + 1000 * step);
  CHECK(affine.absent_key<u64>(5) == affine.key<u64>(5) + (u64{1} << 63));
  CHECK(made("affine", 2).key<u64>(0) != affine.key<u64>(0));
  CHECK_FALSE(affine.in_order());
  CHECK(made("affine:in_order=1").in_order());
  CHECK(made("dense:in_order=1").in_order());
}

TEST_CASE("made-up addresses are distinct, as many as asked for, and a function of the seed") {
  for (const std::string kind : {"email", "url"}) {
    const KeySet keys = made(kind + ":20000");
    CHECK(keys.bytes());
    CHECK_FALSE(keys.from_lines());
    CHECK(keys.capacity() == 20'000);  // repeated lines would be one record
    CHECK(keys.key<std::string_view>(77) == made(kind + ":20000").key<std::string_view>(77));
    CHECK(keys.key<std::string_view>(77) != made(kind + ":20000", 2).key<std::string_view>(77));
    u64 bytes = 0, shortest = 1000, longest = 0;
    for (u64 n = 0; n < keys.capacity(); ++n) {
      const std::string_view key = keys.key<std::string_view>(n);
      bytes += key.size();
      shortest = std::min<u64>(shortest, key.size());
      longest = std::max<u64>(longest, key.size());
      REQUIRE(key.find_first_of(" \n") == key.npos);
    }
    INFO(kind << " from " << shortest << " to " << longest << " bytes");
    CHECK(shortest >= (kind == "email" ? 15u : 35u));
    CHECK(longest <= (kind == "email" ? 45u : 85u));
    check_absent_keys(keys);
  }
  CHECK(made("email").capacity() == 1'000'000);
  CHECK_THROWS_AS(made("url:0"), InputError);
}

TEST_CASE("unknown keys are refused") {
  CHECK_THROWS_WITH(KeySet(Spec::parse("dens"), 1), Contains("did you mean 'dense'"));
  CHECK_THROWS_AS(KeySet(Spec::parse("u64:3"), 1), InputError);
  CHECK_THROWS_AS(KeySet(Spec::parse("dense,x=1"), 1), InputError);
  CHECK_THROWS_AS(KeySet(Spec{.name = "file", .arg = {}, .options = {}}, 1), InputError);
}

TEST_CASE("the system's word list loads") {
  const std::string path = "/usr/share/dict/words";
  if (!std::filesystem::exists(path)) {
    WARN(path << " is absent (package wamerican): not tested");
    return;
  }
  std::set<std::string> expected;
  std::ifstream words(path, std::ios::binary);
  u64 total = 0;
  for (std::string line; std::getline(words, line); ++total) {
    if (!line.empty()) expected.insert(line);
  }
  const KeySet keys(Spec::parse("file:" + path), 1);
  CHECK(keys.lines().total == total);
  CHECK(keys.capacity() == expected.size());
  u64 missing = 0;
  u64 present = 0;
  for (u64 n = 0; n < keys.capacity(); ++n) {
    missing += !expected.count(std::string(keys.key<std::string_view>(n)));
    present += expected.count(std::string(keys.absent_key<std::string_view>(n)));
  }
  CHECK(missing == 0);
  CHECK(present == 0);
  const std::multiset<std::string> all = all_keys(keys);
  CHECK(std::set<std::string>(all.begin(), all.end()).size() == keys.capacity());
}

TEST_CASE("keys that do not fit into memory are refused before any are made or read", "[keys]") {
  constexpr u64 kMemory = 8'000'000'000;
  const auto refused = [&](const std::string& spec, const std::string& why) {
    CHECK_THROWS_WITH(KeySet(Spec::parse(spec), 1, kMemory), Catch::Contains(why));
  };
  refused("email:2Gi", "keys email: 2147483648 keys take at least 214.7 GB of memory; 8.0 GB are available");
  refused("url:100M", "10.0 GB of memory");
  const TemporaryFile sparse("");
  std::filesystem::resize_file(sparse.path(),
                               // A trace maps this file, even where sanitizers leave less than a terabyte.
                               u64{1} << 36);
  refused("file:" + sparse.path(), "has 68.7 GB, of which two copies are in memory for a while; 8.0 GB are available");
  {
    const u64 count = (u64{1} << 33) - 1;
    std::fstream(sparse.path(), std::ios::in | std::ios::out | std::ios::binary)
        .write(reinterpret_cast<const char*>(&count), 8);
  }
  refused("sosd:" + sparse.path(), "has 68.7 GB; 8.0 GB of memory are available");
  CHECK_THROWS_WITH(Distribution(Spec::parse("histogram:" + sparse.path())), Catch::Contains("has 68719476736 bytes"));
  CHECK_THROWS_WITH(WiscerFile::read(sparse.path()), Catch::Contains("has 68719476736 bytes"));
  CHECK_THROWS_WITH(Trace(sparse.path()), Catch::Contains("is not a Latchlab trace"));
  refused("trace", "keys trace: needs a path");
}

}  // namespace
}  // namespace latchlab
