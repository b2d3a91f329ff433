#include "src/memory/media/medium_options.h"

#include <string>

#include "src/testing/catch.h"
#include "src/testing/refusal.h"

namespace latchlab {
namespace {

using Catch::Contains;
using testing::refusal;

MediumOptions parse(std::string_view text) { return MediumOptions::parse(text, "--far"); }

TEST_CASE("a medium is a node, a file or a model, each with its size") {
  const MediumOptions node = parse("node:3,size=4G");
  CHECK(node.kind == MediumKind::kNode);
  CHECK(node.node == 3);
  CHECK(node.size == 4'000'000'000);
  const MediumOptions file = parse("file:/mnt/a,b,size=2Gi");
  CHECK(file.kind == MediumKind::kFile);
  CHECK(file.path == "/mnt/a,b");
  CHECK(file.size == u64{2} << 30);
  const MediumOptions model = parse("model:optane,size=1G,lat=350,write=2");
  CHECK(model.kind == MediumKind::kModel);
  CHECK(model.speed.latency_ns == 350);
  CHECK(model.speed.read_gbps == 6.6);
  CHECK(model.speed.write_gbps == 2);
  CHECK(model.speed.granule == 256);
}

TEST_CASE("the words of a medium parse to the same medium") {
  for (const char* text : {"node:1,size=4G", "file:/dev/shm,size=64Mi", "model:cxl,size=1G,lat=250.5,read=20"}) {
    CAPTURE(text);
    CHECK(parse(parse(text).str()) == parse(text));
  }
  for (const MediumPreset& preset : medium_presets()) {
    const std::string text = "model:" + std::string(preset.name) + ",size=1G";
    CHECK(parse(text).speed == preset.speed);
    CHECK(parse(parse(text).str()) == parse(text));
    CHECK_FALSE(preset.source.empty());
  }
}

TEST_CASE("a wrong word for a medium says what would be right") {
  CHECK_THAT(refusal([] { (void)parse("disk:1,size=1G"); }),
             Contains("--far disk:1,size=1G: there is no medium 'disk'"));
  CHECK_THAT(refusal([] { (void)parse("model:optan,size=1G"); }), Contains("did you mean 'optane'?"));
  CHECK_THAT(refusal([] { (void)parse("model,size=1G"); }), Contains("there are optane, optane-6, cxl"));
  CHECK_THAT(refusal([] { (void)parse("node,size=1G"); }), Contains("a node is node:NUMBER,size=BYTES"));
  CHECK_THAT(refusal([] { (void)parse("node:1024,size=1G"); }), Contains("1023"));
  CHECK_THAT(refusal([] { (void)parse("node:1"); }), Contains("add ,size=BYTES"));
  CHECK_THAT(refusal([] { (void)parse("node:1,size=1"); }), Contains("1048576"));
  CHECK_THAT(refusal([] { (void)parse("node:1,size=1G,lat=3"); }), Contains("lat"));
  CHECK_THAT(refusal([] { (void)parse("model:cxl,size=1G,lat=10000001"); }), Contains("lat=10000001"));
  CHECK_THAT(refusal([] { (void)parse("file:/tmp"); }), Contains("a file is file:PATH,size=BYTES"));
  CHECK_THAT(refusal([] { (void)parse("file:,size=1G"); }), Contains("a file is file:PATH,size=BYTES"));
  CHECK_THAT(refusal([] { (void)parse("model:cxl,size=1G,read=0"); }), Contains("read"));
  CHECK_THAT(refusal([] { (void)parse(""); }), Contains("there is no medium ''"));
}

}  // namespace
}  // namespace latchlab
