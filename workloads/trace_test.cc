#include "workloads/trace.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/hash.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"
#include "workloads/trace_testing.h"

namespace latchlab {
namespace {

using Catch::Matchers::Contains;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The file of a small trace with times, in which c is read first, and a and b are written first.
std::string small_trace() {
  const TemporaryFile file("");
  TraceWriter writer;
  writer.add(100, "a", OpKind::kUpsert, 10);
  writer.add(150, "cc", OpKind::kRead, 0);
  writer.add(150, "b", OpKind::kInsert, u64{1} << 40);
  writer.add(200, "a", OpKind::kErase, 0);
  writer.write(file.path(), true);
  return bytes_of(file.path());
}

TEST_CASE("a caller can name the loaded keys, no matter which operations use them", "[trace]") {
  const TemporaryFile file("");
  TraceWriter writer(~u64{0}, TraceWriter::Loaded::kByCaller);
  for (const char* key : {"a", "b", "a"}) writer.load(key);
  writer.add(0, "never", OpKind::kRead, 8);
  writer.add(0, "new", OpKind::kInsert, 8);
  writer.add(0, "b", OpKind::kUpsert, 8);
  writer.write(file.path(), false);
  const Trace trace(file.path());
  CHECK(trace.loaded() == 2);
  REQUIRE(trace.keys() == 4);
  CHECK(trace.key(0) == "a");
  CHECK(trace.key(1) == "b");
  CHECK(trace.key(2) == "never");
  CHECK(trace.ops()[2].key == 1);

  TraceWriter small(1000, TraceWriter::Loaded::kByCaller);
  CHECK(testing::refusal([&] {
          for (u64 n = 0; n < 100; ++n) small.load(std::to_string(n));
        }) == "the 0 operations on 10 keys so far take 0.0 GB of memory, more than is available");
}

TEST_CASE("a written trace is read back, and its loaded keys come first", "[trace]") {
  const TemporaryFile file(small_trace());
  const Trace trace(file.path());
  CHECK(trace.has_times());
  REQUIRE(trace.keys() == 3);
  CHECK(trace.loaded() == 1);
  CHECK(trace.key(0) == "cc");
  CHECK(trace.key(1) == "a");
  CHECK(trace.key(2) == "b");
  REQUIRE(trace.ops().size() == 4);
  const u32 keys[] = {1, 0, 2, 1};
  const u64 times[] = {0, 50, 50, 100};
  const OpKind kinds[] = {OpKind::kUpsert, OpKind::kRead, OpKind::kInsert, OpKind::kErase};
  for (u64 i = 0; i < 4; ++i) {
    CHECK(trace.ops()[i].key == keys[i]);
    CHECK(trace.ops()[i].time_ns == times[i]);
    CHECK(static_cast<OpKind>(trace.ops()[i].kind) == kinds[i]);
  }
  CHECK(trace.ops()[0].value_bytes == 10);
  CHECK(trace.ops()[2].value_bytes == TraceOp::kMostValueBytes);
}

TEST_CASE("a trace without times has none", "[trace]") {
  const TemporaryFile file("");
  TraceWriter writer;
  writer.add(7, "key", OpKind::kRead, 0);
  writer.add(9, "key", OpKind::kRead, 0);
  writer.write(file.path(), false);
  const Trace trace(file.path());
  CHECK_FALSE(trace.has_times());
  CHECK(trace.ops()[1].time_ns == 0);
}

TEST_CASE("many random operations are read back unchanged", "[trace]") {
  const u64 seed = test_seed();
  Rng rng(seed);
  TraceWriter writer;
  std::vector<std::string> keys;
  for (int i = 0; i < 20'000; ++i) {
    keys.push_back("key" + std::to_string(rng.below(3000)));
    writer.add(static_cast<u64>(i), keys.back(), testing::random_trace_kind(rng), rng.below(1000));
  }
  const TemporaryFile file("");
  writer.write(file.path(), true);
  const Trace trace(file.path());
  REQUIRE(trace.ops().size() == keys.size());
  u64 wrong = 0;
  std::map<u32, bool> there;  // by number: whether the key was loaded
  for (u64 i = 0; i < keys.size(); ++i) {
    const TraceOp& op = trace.ops()[i];
    wrong += trace.key(op.key) != keys[i];
    const auto kind = static_cast<OpKind>(op.kind);
    there.emplace(op.key, kind != OpKind::kInsert && kind != OpKind::kUpsert);
  }
  CHECK(wrong == 0);
  for (const auto& [key, was] : there) REQUIRE(was == (key < trace.loaded()));
}

/// Returns the message that refuses the file.
std::string trace_refusal(const std::string& bytes) {
  const TemporaryFile file(bytes);
  return testing::refusal([&] { (void)Trace(file.path()); });
}

TEST_CASE("a trace that is truncated anywhere, or extended, is refused", "[trace]") {
  const std::string whole = small_trace();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string error = trace_refusal(whole.substr(0, length));
    INFO("of " << whole.size() << " bytes " << length << ": " << error);
    REQUIRE(error.starts_with("trace file '"));
  }
  CHECK_THAT(trace_refusal(""), Contains("is empty"));
  CHECK_THAT(trace_refusal(whole.substr(0, 63)), Contains("too few for the header"));
  CHECK_THAT(trace_refusal(whole.substr(0, 100)), Contains("it is cut off or damaged"));
  CHECK_THAT(trace_refusal(whole + "x"), Contains("it is cut off or damaged"));
  CHECK(trace_refusal(whole) == "");
}

TEST_CASE("a trace with any bit flipped is refused", "[trace]") {
  const std::string whole = small_trace();
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string other = whole;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
    INFO("bit " << bit);
    REQUIRE(trace_refusal(other) != "");
  }
  CHECK_THAT(trace_refusal("PK" + whole.substr(2)), Contains("is not a Latchlab trace; harness trace convert"));
  std::string later = whole;
  later[8] = 2;
  CHECK_THAT(trace_refusal(later), Contains("is of version 2; this harness reads version 1"));
}

TEST_CASE("a trace with an operation on several keys is refused", "[trace]") {
  const TemporaryFile file("");
  TraceWriter writer;
  writer.add(0, "a", OpKind::kMultiGet, 0);
  writer.write(file.path(), false);
  CHECK_THROWS_WITH(Trace(file.path()), Contains("operation 0 has kind 7, which is no kind of operations on one key"));
}

TEST_CASE("the numbers of kinds, which traces contain, stay as they are", "[trace]") {
  constexpr std::array kNumbered{OpKind::kRead,   OpKind::kInsert,   OpKind::kUpdate, OpKind::kUpsert,
                                 OpKind::kErase,  OpKind::kScan,     OpKind::kRmw,    OpKind::kMultiGet,
                                 OpKind::kModify, OpKind::kIncrement};
  static_assert(kNumbered.size() == kOpKinds, "give a new kind the next number");
  for (u32 number = 0; number < kOpKinds; ++number) {
    CHECK(static_cast<u32>(kNumbered[number]) == number);
    CHECK(TraceOp::may_have(number) == (kNumbered[number] != OpKind::kMultiGet));
  }
  CHECK_FALSE(TraceOp::may_have(kOpKinds));
}

TEST_CASE("a trace may have modifies, and a key that the first one finds is loaded before", "[trace]") {
  const TemporaryFile file("");
  TraceWriter writer;
  writer.add(0, "new", OpKind::kInsert, 8);
  writer.add(0, "new", OpKind::kModify, 8);
  writer.add(0, "old", OpKind::kModify, 8);
  writer.write(file.path(), false);
  const Trace trace(file.path());
  CHECK(trace.counts()[static_cast<std::size_t>(OpKind::kModify)] == 2);
  REQUIRE(trace.loaded() == 1);
  CHECK(trace.key(0) == "old");
}

TEST_CASE("an operation that a trace cannot hold is refused when it is added", "[trace]") {
  TraceWriter writer;
  CHECK_THROWS_WITH(writer.add(0, "", OpKind::kRead, 0), Contains("the key is empty"));
  CHECK_THROWS_WITH(writer.add(0, std::string(65'537, 'x'), OpKind::kRead, 0), Contains("65537 bytes"));
  writer.add(5, "x", OpKind::kRead, 0);
  CHECK_THROWS_WITH(writer.add(4, "x", OpKind::kRead, 0), Contains("earlier than that of the operation before"));
  CHECK(writer.operations() == 1);
  CHECK_THROWS_WITH(writer.write("/no/such/folder/file", true), Contains("cannot be written: No such file"));
  CHECK_THROWS_WITH(TraceWriter().write("/tmp/none", true), Contains("no operation to write"));
  CHECK_THROWS_WITH(Trace("/no/such"), Contains("No such file"));
  CHECK_THROWS_WITH(Trace("/tmp"), Contains("not a regular file"));
  CHECK_THROWS_WITH(Trace("/dev/null"), Contains("not a regular file"));
}

/// Returns a trace as another program would write it, with chosen keys and a correct checksum. `joined`: its second key
/// also includes the third key's bytes.
std::string foreign_trace(const std::vector<std::string>& keys, bool joined = false) {
  TraceWriter writer;
  for (u64 i = 0; i < keys.size(); ++i)
    writer.add(0, std::string(keys[i].size(), static_cast<char>('A' + i)), OpKind::kRead, 0);
  const TemporaryFile file("");
  writer.write(file.path(), false);
  std::string bytes = bytes_of(file.path());
  std::size_t at = 64 + 8 * keys.size();
  for (const std::string& key : keys) bytes.replace(at, key.size(), key), at += key.size();
  if (joined) bytes.replace(64 + 8, 8, bytes.substr(64 + 16, 8));
  bytes.replace(48, 8, 8, '\0');
  const std::size_t ops = bytes.size() - 16 * keys.size(), ends = 64 + 8 * keys.size();
  const std::string_view all = bytes;
  const u64 sum = hash_bytes(
      all.substr(ops),
      hash_bytes(all.substr(ends, ops - ends), hash_bytes(all.substr(64, ends - 64), hash_bytes(all.substr(0, 64)))));
  bytes.replace(48, 8, reinterpret_cast<const char*>(&sum), 8);
  return bytes;
}

TEST_CASE("a trace with a repeated key or a key that is too long is refused", "[trace]") {
  CHECK(trace_refusal(foreign_trace({"one", "two", "six"})) == "");
  CHECK_THAT(trace_refusal(foreign_trace({"one", "two", "one"})), Contains("key 2 repeats key 0"));
  CHECK(trace_refusal(foreign_trace({"one", std::string(65'536, 'x')})) == "");
  CHECK_THAT(trace_refusal(foreign_trace({"one", std::string(65'536, 'x'), "y"}, true)),
             Contains("key 1 has 65537 bytes; a key may have 65536"));
}

TEST_CASE("a trace file is read once until it changes", "[trace]") {
  const TemporaryFile file(small_trace());
  const std::shared_ptr<const Trace> trace = Trace::at(file.path());
  CHECK(Trace::at(file.path()) == trace);
  CHECK(trace->counts()[static_cast<std::size_t>(OpKind::kErase)] == 1);
  TraceWriter writer;
  writer.add(0, "other", OpKind::kRead, 0);
  writer.write(file.path(), false);
  CHECK(Trace::at(file.path())->key(0) == "other");
  CHECK(trace->key(0) == "cc");  // an owner of the old trace keeps it
  CHECK(Trace::at(file.path())->checksum() != trace->checksum());
}

}  // namespace
}  // namespace latchlab
