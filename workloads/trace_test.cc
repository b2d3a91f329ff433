#include "workloads/trace.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "src/base/error.h"
#include "src/base/rng.h"
#include "src/testing/catch.h"
#include "src/testing/temporary_file.h"

namespace latchlab {
namespace {

using Catch::Matchers::Contains;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The file of a small trace with times: c is read first, a and b are written first.
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

TEST_CASE("what is written is read, and what was there before the first operation comes first", "[trace]") {
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

TEST_CASE("many random operations come back as they were", "[trace]") {
  const u64 seed = test_seed();
  Rng rng(seed);
  TraceWriter writer;
  std::vector<std::string> keys;
  for (int i = 0; i < 20'000; ++i) {
    keys.push_back("key" + std::to_string(rng.below(3000)));
    writer.add(static_cast<u64>(i), keys.back(), static_cast<OpKind>(rng.below(kOpKinds)), rng.below(1000));
  }
  const TemporaryFile file("");
  writer.write(file.path(), true);
  const Trace trace(file.path());
  REQUIRE(trace.ops().size() == keys.size());
  u64 wrong = 0;
  std::map<u32, bool> there;   // by number: was it there before?
  for (u64 i = 0; i < keys.size(); ++i) {
    const TraceOp& op = trace.ops()[i];
    wrong += trace.key(op.key) != keys[i];
    const auto kind = static_cast<OpKind>(op.kind);
    there.emplace(op.key, kind != OpKind::kInsert && kind != OpKind::kUpsert);
  }
  CHECK(wrong == 0);
  for (const auto& [key, was] : there) REQUIRE(was == (key < trace.loaded()));
}

/// What is said of the file.
std::string error_of(const std::string& bytes) {
  const TemporaryFile file(bytes);
  try {
    (void)Trace(file.path());
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST_CASE("a trace that is cut off anywhere, or longer, is refused", "[trace]") {
  const std::string whole = small_trace();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string error = error_of(whole.substr(0, length));
    INFO("of " << whole.size() << " bytes " << length << ": " << error);
    REQUIRE(error.starts_with("trace file '"));
  }
  CHECK_THAT(error_of(""), Contains("is empty"));
  CHECK_THAT(error_of(whole.substr(0, 63)), Contains("too few for the header"));
  CHECK_THAT(error_of(whole.substr(0, 100)), Contains("it is cut off or damaged"));
  CHECK_THAT(error_of(whole + "x"), Contains("it is cut off or damaged"));
  CHECK(error_of(whole) == "none");
}

TEST_CASE("a trace of which any bit is another is refused", "[trace]") {
  const std::string whole = small_trace();
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string other = whole;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ 1 << bit % 8);
    INFO("bit " << bit);
    REQUIRE(error_of(other) != "none");
  }
  CHECK_THAT(error_of("PK" + whole.substr(2)), Contains("is no trace of ours; harness trace convert"));
  std::string later = whole;
  later[8] = 2;
  CHECK_THAT(error_of(later), Contains("is of version 2; this harness reads version 1"));
}

TEST_CASE("what cannot be in a trace is refused as it is added", "[trace]") {
  TraceWriter writer;
  CHECK_THROWS_WITH(writer.add(0, "", OpKind::kRead, 0), Contains("the key is empty"));
  CHECK_THROWS_WITH(writer.add(0, std::string(65'537, 'x'), OpKind::kRead, 0), Contains("65537 bytes"));
  writer.add(5, "x", OpKind::kRead, 0);
  CHECK_THROWS_WITH(writer.add(4, "x", OpKind::kRead, 0), Contains("before that of the operation before"));
  CHECK(writer.operations() == 1);
  CHECK_THROWS_WITH(writer.write("/no/such/folder/file", true), Contains("cannot be written: No such file"));
  CHECK_THROWS_WITH(TraceWriter().write("/tmp/none", true), Contains("no operation to write"));
  CHECK_THROWS_WITH(Trace("/no/such"), Contains("No such file"));
  CHECK_THROWS_WITH(Trace("/tmp"), Contains("not a regular file"));
  CHECK_THROWS_WITH(Trace("/dev/null"), Contains("not a regular file"));
}

}  // namespace
}  // namespace latchlab
