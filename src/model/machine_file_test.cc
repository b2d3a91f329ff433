#include "src/model/machine_file.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "src/testing/catch.h"
#include "src/testing/refusal.h"
#include "src/testing/temporary_file.h"

namespace latchlab::model {
namespace {

using latchlab::testing::refusal;

std::string shipped(std::string_view name) {
  for (const ShippedMachine& machine : shipped_machines()) {
    if (machine.name == name) return std::string(machine.text);
  }
  FAIL("no shipped machine " << name);
  return {};
}

/// Returns the text of haswell-ep with one piece replaced.
std::string with(std::string_view piece, std::string_view other) {
  std::string text = shipped("haswell-ep");
  const std::size_t at = text.find(piece);
  REQUIRE(at != std::string::npos);
  return text.replace(at, piece.size(), other);
}

std::string refused(const std::string& text) {
  const std::string why = refusal([&] { (void)MachineFile::parse(text, "x.toml"); });
  CHECK(why.find('\n') == std::string::npos);
  return why;
}

MachineFile of(std::string_view spec) { return MachineFile::of(Spec::parse(spec)); }

/// Returns "" if the text has this piece, else the text.
std::string lacking(const std::string& text, std::string_view piece) {
  return text.find(piece) == std::string::npos ? "'" + text + "'" : "";
}

TEST_CASE("Machine files: the shipped ones are read, and are of the shapes that they say") {
  CHECK(shipped_machines().size() == 4);
  const auto threads = [](const char* name) { return of(name).parameters().all_threads(); };
  CHECK(threads("haswell-ep") == 56);
  CHECK(threads("haswell-ep-18") == 72);
  CHECK(threads("sapphire-rapids") == 128);
  CHECK(threads("epyc") == 128);
  for (const ShippedMachine& machine : shipped_machines()) {
    const MachineFile file = of(machine.name);
    CHECK(file.name() == machine.name);
    CHECK(file.changes().empty());
    CHECK(file.parameters().htm.present == (machine.name != "epyc"));
  }
}

TEST_CASE("Machine files: values and their provenance") {
  const MachineFile file = of("haswell-ep");
  const Parameters& p = file.parameters();
  CHECK(p.l1.kb == 32);
  CHECK(p.l3.kind == L3Kind::kInclusive);
  CHECK(p.htm.read == ReadSet::kL3);
  CHECK(p.home.stale_directory);
  CHECK(p.clock.ghz_by_active.back() == 3.1);
  const auto value = std::ranges::find(file.values(), "qpi.gbps", &MachineFile::Value::key);
  REQUIRE(value != file.values().end());
  CHECK(value->text == "38.4");
  CHECK(value->unit == "GB/s");
  CHECK(value->tag == Tag::kRecalled);
  CHECK_FALSE(value->source.empty());
}

TEST_CASE("Machine files: the numbers of threads, cores, clusters and sockets") {
  const MachineFile file = of("haswell-ep");
  const Parameters& p = file.parameters();
  CHECK(p.core_of_thread(28) == 0);
  CHECK(p.cluster_of_core(7) == 1);
  CHECK(p.cluster_of_core(27) == 3);
  CHECK(p.socket_of_cluster(1) == 0);
  CHECK(p.distance(0, 0) == Distance::kLocal);
  CHECK(p.distance(0, 1) == Distance::kCluster);
  CHECK(p.distance(1, 2) == Distance::kSocket);
}

TEST_CASE("Machine files: a value without source, unit or known tag is refused") {
  const std::string_view whole =
      R"(kb = {v = 32, unit = "KiB", tag = "recalled", source = "Intel's optimization manual, Haswell"})";
  const auto kb = [&](std::string_view value) { return refused(with(whole, value)); };
  CHECK(lacking(kb(R"(kb = {v = 32, unit = "KiB", tag = "recalled"})"), "x.toml': line ") == "");
  CHECK(lacking(kb(R"(kb = {v = 32, unit = "KiB", tag = "recalled"})"), "l1.kb has no source") == "");
  CHECK(lacking(kb(R"(kb = {v = 32, unit = "KiB", tag = "recalled", source = " "})"),
                "must be a text that is not empty") == "");
  CHECK(lacking(kb(R"(kb = {v = 32, tag = "recalled", source = "x"})"), "l1.kb has no unit") == "");
  CHECK(lacking(kb(R"(kb = {v = 32, unit = "kB", tag = "recalled", source = "x"})"), "must be 'KiB', not 'kB'") == "");
  CHECK(lacking(kb(R"(kb = {v = 32, unit = "KiB", source = "x"})"), "l1.kb has no tag") == "");
  CHECK(lacking(kb(R"(kb = {v = 32, unit = "KiB", tag = "sure", source = "x"})"),
                "must be one of measured, published, recalled, fitted, assumed, not 'sure'") == "");
  CHECK(lacking(kb(R"(kb = {unit = "KiB", tag = "recalled", source = "x"})"), "l1.kb has no v") == "");
  CHECK(lacking(kb(R"(kb = {v = 32, unit = "KiB", tag = "recalled", source = "x", note = "y"})"),
                "unknown part 'note'") == "");
  CHECK(lacking(kb("kb = 32"), "l1.kb must be {v = ") == "");
  CHECK(lacking(kb(""), "has no l1.kb") == "");
}

TEST_CASE("Machine files: unknown names and wrong values are refused") {
  CHECK(lacking(refused(with("[qpi]", "[qpy]")), "there is no table [qpy]; did you mean 'qpi'?") == "");
  CHECK(lacking(refused(with("fill_buffers", "fil_buffers")), "did you mean 'core.fill_buffers'?") == "");
  CHECK(lacking(refused(with("v = 38.4", "v = -1")), "qpi.gbps is -1; it must be a number from 0.1 to 10000") == "");
  CHECK(lacking(refused(with("v = 38.4", "v = \"38.4\"")), "qpi.gbps is 38.4; it must be a number") == "");
  CHECK(lacking(refused(with("v = 192", "v = 19.2")), "must be a whole number") == "");
  CHECK(lacking(refused(with("v = \"inclusive\"", "v = \"mostly\"")), "it must be one of inclusive, victim") == "");
  CHECK(lacking(refused(with("v = true", "v = 1")), "it must be true or false") == "");
  CHECK(lacking(refused(with("v = [3.6, ", "v = [[], ")), "it must be a number, or a list as in [3.6;3.4]") == "");
  CHECK(lacking(refused(with("v = [3.6, 3.6, 3.4, 3.3, 3.2, 3.1]", "v = []")),
                "must be a number, or a list as in [3.6;3.4]") == "");
  CHECK(lacking(refused(with("v = 7,", "v = 40,")), "160 cores; the model has at most 64") == "");
  CHECK(lacking(refused(with("name = \"haswell-ep\"", "")), "has no name") == "");
  CHECK(lacking(refused("name = \"a\"\nx = "), "x.toml': line 2: ") == "");
}

TEST_CASE("Machine files: a machine has all of [htm] or nothing of it") {
  std::string text = shipped("epyc");
  text += "[htm]\nbegin = {v = 8, unit = \"ns\", source = \"x\", tag = \"assumed\"}\n";
  CHECK(lacking(refused(text), "has no htm.commit") == "");
  CHECK(lacking(refusal([] { (void)of("epyc:htm.begin=9"); }), "there is no htm.begin") == "");
}

TEST_CASE("Machine files: changes are kept as lines, and are assumed") {
  const MachineFile file = of("haswell-ep:qpi.gbps=2x,htm.read=l1,home.stale_directory=false");
  CHECK(file.parameters().qpi.gbps == 76.8);
  CHECK(file.parameters().htm.read == ReadSet::kL1);
  CHECK_FALSE(file.parameters().home.stale_directory);
  REQUIRE(file.changes().size() == 3);
  CHECK(file.changes()[0] == "qpi.gbps: 76.8 GB/s instead of 38.4 (a change on the command line)");
  CHECK(file.changes()[1] == "htm.read: l1 word instead of l3 (a change on the command line)");
  CHECK(std::ranges::find(file.values(), "qpi.gbps", &MachineFile::Value::key)->tag == Tag::kAssumed);
}

TEST_CASE("Machine files: a change of a list is one number for all of it, or a multiple of each") {
  const std::vector<double> of_file = of("haswell-ep").parameters().clock.ghz_by_active;
  CHECK(of("haswell-ep:clock.ghz_by_active=2.6").parameters().clock.ghz_by_active == std::vector{2.6});
  const std::vector<double> halves = of("haswell-ep:clock.ghz_by_active=0.5x").parameters().clock.ghz_by_active;
  REQUIRE(halves.size() == of_file.size());
  CHECK(halves.front() == of_file.front() / 2);
  CHECK(of("haswell-ep:clock.ghz_by_active=[3;2],l1.ns=2").parameters().clock.ghz_by_active == std::vector{3., 2.});
  CHECK(halves.back() == of_file.back() / 2);
}

TEST_CASE("Machine files: changes may contradict the file one by one, and not together") {
  CHECK(of("haswell-ep:l1.ways=7,l1.kb=28").parameters().l1.kb == 28);
  CHECK(lacking(refusal([] { (void)of("haswell-ep:l1.ways=7"); }), "l1.kb must be a multiple of 64 bytes a way") == "");
}

TEST_CASE("Machine files: a wrong change is refused and changes nothing") {
  MachineFile file = of("haswell-ep");
  const std::string digest = file.digest();
  const auto wrong = [&](std::string_view key, std::string_view text) {
    return refusal([&] { file.change(std::array{std::pair{std::string(key), std::string(text)}}); });
  };
  CHECK(lacking(wrong("qpi.gpbs", "1"), "there is no qpi.gpbs; did you mean 'qpi.gbps'?") == "");
  CHECK(lacking(wrong("qpi.gbps", "fast"), "qpi.gbps cannot be 'fast'; it must be a number") == "");
  CHECK(lacking(wrong("htm.read", "2x"), "it must be one of l1, l3, lines") == "");
  CHECK(lacking(wrong("core.window", "0.001x"), "core.window cannot be '0.001x'") == "");
  CHECK(lacking(wrong("clock.ghz_by_active", "fast"), "it must be a number, or a list as in [3.6;3.4]") == "");
  CHECK(lacking(wrong("topology.cores", "17"), "has 68 cores") == "");
  CHECK(file.changes().empty());
  CHECK(file.digest() == digest);
  CHECK(lacking(refusal([] { (void)of("haswel-ep"); }), "did you mean 'haswell-ep'?") == "");
  CHECK(lacking(refusal([] { (void)of("haswel-ep"); }), "file:PATH") == "");
  CHECK(lacking(refusal([] { (void)of("haswell-ep:fast"); }), "'fast' is no change; write key=value") == "");
}

TEST_CASE("Machine files: a scale divides L3, the TLB, and the times of marks") {
  MachineFile file = of("haswell-ep");
  file.scale_down(16);
  CHECK(file.parameters().l3.mb_per_cluster == 17.5 / 16);
  CHECK(file.parameters().tlb.l2 == 64);
  CHECK(file.parameters().l2.kb == 256);
  CHECK(file.parameters().kernel.marks_after_ms == 62.5);
  CHECK(file.parameters().kernel.mark_period_ms == 62.5);
  CHECK(file.changes().size() == 4);
  CHECK(lacking(refusal([&] { file.scale_down(0.5); }), "must be at least 1") == "");
  CHECK(lacking(refusal([&] { of("haswell-ep").scale_down(1000); }),
                "scale=1000 leaves nothing of tlb.l2; it must be at most 256") == "");
  CHECK(lacking(refused(with("v = 38.4", "v = \"38.4\"")), "a number from 0.1 to 10000, without quotes") == "");
}

TEST_CASE("Machine files: a name is a text that a terminal shows") {
  for (const char* name : {"", "  ", "a\\u001b[31m", "a\\nb"}) {
    const std::string text = with("name = \"haswell-ep\"", std::string("name = \"") + name + '"');
    CHECK(lacking(refused(text), "name must be a text that is not empty") == "");
  }
}

TEST_CASE("Machine files: the digest tells files apart by name, value and provenance") {
  const std::string digest = of("haswell-ep").digest();
  CHECK(digest.size() == 16);
  const auto of_text = [](const std::string& text) { return MachineFile::parse(text, "x.toml").digest(); };
  CHECK(of_text(shipped("haswell-ep")) == digest);
  CHECK(of_text(with("# Two", "# 2")) == digest);
  CHECK(of_text(with("name = \"haswell-ep\"", "name = \"mine\"")) != digest);
  CHECK(of_text(with("v = 38.4", "v = 38.5")) != digest);
  CHECK(of_text(with("tag = \"recalled\"", "tag = \"measured\"")) != digest);
  CHECK(of("haswell-ep:qpi.gbps=2x").digest() != digest);
}

TEST_CASE("Machine files: a file by its path") {
  const TemporaryFile file(with("name = \"haswell-ep\"", "name = \"mine\""));
  CHECK(of("file:" + file.path()).name() == "mine");
  Spec changed = Spec::parse("file:" + file.path());
  changed.options = {{"qpi.gbps", "2x"}};
  CHECK(MachineFile::of(changed).parameters().qpi.gbps == 76.8);
  CHECK(lacking(refusal([] { (void)of("file:/no/such.toml"); }), "machine file '/no/such.toml': cannot be read") == "");
  CHECK(lacking(refusal([] { (void)of("file:/tmp"); }), "machine file '/tmp': cannot be read") == "");
}

}  // namespace
}  // namespace latchlab::model
