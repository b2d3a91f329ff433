#include "services/rocksdb/options.h"

#include <string>

#include "src/base/error.h"
#include "src/testing/catch.h"

namespace latchlab::tier {
namespace {

std::string refusal(const std::string& uri) {
  try {
    (void)parse_uri(uri);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("A URI of the tier says its size, its promotion and its file of counts") {
  const TierOptions options = parse_uri("latchlab://size=64Mi,promote=2,stats=/tmp/tier=1.json");
  CHECK(options.size == 64 << 20);
  CHECK(options.promote == 2);
  CHECK(options.stats == "/tmp/tier=1.json");
  const TierOptions usual = parse_uri("latchlab://size=64M");
  CHECK(usual.size == 64'000'000);
  CHECK(usual.promote == 1);
  CHECK(usual.rule == PlacementKind::kNearFirst);
  CHECK(parse_uri("latchlab://rule=near-first,size=64M").rule == PlacementKind::kNearFirst);
  CHECK(parse_uri("latchlab://size=64M,rule=second-touch").rule == PlacementKind::kSecondTouch);
  CHECK(parse_uri("latchlab://far=model:cxl,rule=second-touch,size=64M").rule == PlacementKind::kSecondTouch);
  CHECK(usual.stats.empty());
  CHECK_FALSE(usual.far);
}

TEST_CASE("A URI of the tier names a medium, whose words may stand anywhere") {
  const TierOptions node = parse_uri("latchlab://far=node:1,size=4Gi,promote=2");
  CHECK(node.far == MediumOptions::parse("node:1,size=4Gi", ""));
  CHECK(node.size == u64{4} << 30);
  CHECK(node.promote == 2);
  const TierOptions model = parse_uri("latchlab://size=4G,stats=x,far=model:optane,lat=350");
  CHECK(model.far == MediumOptions::parse("model:optane,size=4G,lat=350", ""));
  CHECK(model.stats == "x");
  CHECK(parse_uri("latchlab://far=file:/dev/shm,promote=1,size=4G").far->path == "/dev/shm");
}

TEST_CASE("A wrong URI is refused in one line that says what would be right") {
  struct Case {
    const char *uri, *words;
  };
  for (const auto& [uri, words] :
       {Case{"latchlab", "begin with latchlab://"},
        Case{"latchlab:size=64M", "begin with latchlab://"},
        Case{"latchlab://", "needs a size"},
        Case{"latchlab://promote=1", "needs a size"},
        Case{"latchlab://64M", "latchlab"},
        Case{"latchlab://size=", "size"},
        Case{"latchlab://size=64X", "size='64X'"},
        Case{"latchlab://size=1", "size='1' must be a whole number from 1"},
        Case{"latchlab://size=64M,promote=3", "promote='3'"},
        Case{"latchlab://size=64M,rule=third-touch", "rule='third-touch' must be near-first or second-touch; write"},
        Case{"latchlab://size=64M,rule=far-first", "takes each block first"},
        Case{"latchlab://size=64M,rule=", "rule"},
        Case{"latchlab://sze=64M", "did you mean 'size'?"},
        Case{"latchlab://size=64M,size=64M", "size"},
        Case{"latchlab://size=64M,lat=3", "'lat'"},
        Case{"latchlab://far=node:1", "size"},
        Case{"latchlab://far=,size=64M", "far"},
        Case{"latchlab://far=tape,size=64M", "there is no medium 'tape'"},
        Case{"latchlab://far=model:optane,size=64M,sped=1", "'sped'"},
        Case{"latchlab://far=file:/dev/shm,size=64M,lat=1", "size='64M,lat=1'"},
        Case{"latchlab://far=node:1,size=4G,promote=0", "promote='0'"}}) {
    const std::string text = refusal(uri);
    INFO(uri);
    INFO(text);
    CHECK(text.find(words) != text.npos);
    CHECK(text.find("such as latchlab://size=64Mi") != text.npos);
    CHECK(text.find('\n') == text.npos);
  }
}

}  // namespace
}  // namespace latchlab::tier
