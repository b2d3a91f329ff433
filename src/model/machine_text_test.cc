#include "src/model/machine_text.h"

#include <vector>

#include "src/testing/catch.h"

namespace latchlab::model {
namespace {

TEST_CASE("Machine files: what is written is read again as the same machine") {
  for (const ShippedMachine& machine : shipped_machines()) {
    const MachineFile file = MachineFile::of(Spec::parse(machine.name));
    CHECK(MachineFile::parse(machine_text("one\ntwo", file.name(), file.values()), "x").digest() == file.digest());
  }
  const MachineFile epyc = MachineFile::of(Spec::parse("epyc"));
  std::vector<MachineFile::Value> values{epyc.values().begin(), epyc.values().end()};
  values.front().source = "a \"quoted\" \\ text,\tand a second line:\n\x7f";
  const std::string text = machine_text("one\ntwo", "a \"name\"", values);
  CHECK(text.starts_with("# one\n# two\n\nname = \"a \\\"name\\\"\"\n\n[topology]\nsockets = {v = 2, "));
  CHECK(MachineFile::parse(text, "x").values().front().source == values.front().source);
}

}  // namespace
}  // namespace latchlab::model
