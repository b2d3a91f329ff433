// Tests of the machine of a modelled run: its topology, and what its options change.
#include "harness/host/modelled_machine.h"

#include "src/base/error.h"
#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

std::shared_ptr<const ModelledMachine> machine_named(std::string_view text) {
  return modelled_machine(Spec::parse(text));
}

TEST_CASE("a modelled machine: processors are the hardware threads of the model, nodes its clusters") {
  const auto machine = machine_named("haswell-ep");
  const Topology& topology = machine->topology;
  CHECK(topology.describe() == "2 sockets, 4 NUMA nodes, 4 clusters, 28 cores, 56 processors (all allowed)");
  const Processor& last = topology.processors.back();
  CHECK(last.os == 55);
  CHECK((last.core == 27 && last.smt == 1 && last.cluster == 3 && last.node == 3 && last.socket == 1));
  CHECK(topology.processors[1].os == 28);  // the sibling of thread 0
  CHECK(topology.digest != machine_named("epyc")->topology.digest);
}

TEST_CASE("a modelled machine: a scale divides its last caches, and is a change that the result keeps") {
  const auto whole = machine_named("haswell-ep"), small = machine_named("haswell-ep:scale=16,qpi.gbps=2x");
  CHECK(whole->file.changes().empty());
  CHECK(whole->warmup_operations() == 4 * 17.5 * (1 << 20) / 64);
  CHECK(small->scale == 16);
  CHECK(small->warmup_operations() == whole->warmup_operations() / 16);
  CHECK(small->file.parameters().qpi.gbps == 2 * whole->file.parameters().qpi.gbps);
  CHECK(small->file.parameters().l2.kb == whole->file.parameters().l2.kb);
  CHECK(small->file.changes().size() == 5);
}

TEST_CASE("a modelled machine: the scale of a spec is completed once, and wrong ones are refused") {
  Spec spec = Spec::parse("haswell-ep:qpi.gbps=2x");
  complete_machine(spec, true);
  CHECK(spec.str() == "haswell-ep:scale=16,qpi.gbps=2x");
  complete_machine(spec, false);
  CHECK(spec.str() == "haswell-ep:scale=16,qpi.gbps=2x");
  Spec file = Spec::parse("file:a,b/x.toml,qpi.gbps=2x,l1.kb=64");
  complete_machine(file, true);
  CHECK(file.arg == "a,b/x.toml");
  CHECK(file.str() == "file:a,b/x.toml,scale=16,qpi.gbps=2x,l1.kb=64");
  Spec again = Spec::parse(file.str());
  complete_machine(again, false);
  CHECK(again == file);
  for (const char* wrong : {"haswell-ep:scale=0.5", "haswell-ep:scale=x", "haswell-ep:scale=nan",
                            "haswell-ep:scale=inf", "haswell-ep:scale=257"}) {
    CHECK(testing::refusal([&] { (void)machine_named(wrong); }).starts_with("machine haswell-ep: scale="));
  }
}

}  // namespace
}  // namespace latchlab
