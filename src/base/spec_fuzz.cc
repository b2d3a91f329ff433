// Fuzzes the parser of specs: the text of a parsed spec parses to the same spec.
#include "src/base/spec.h"

#include "src/testing/fuzzing.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace latchlab;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] {
    const Spec spec = Spec::parse(text);
    expect(Spec::parse(spec.str()) == spec, "a spec's text parses to the spec");
    const Spec plain = spec.plain();
    expect(plain.plain() == plain, "a plain spec is plain already");
  });
  return 0;
}
