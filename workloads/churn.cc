#include "workloads/churn.h"

#include <fmt/format.h>

#include "src/base/error.h"

namespace latchlab {

Churn Churn::parse(const Spec& spec) {
  constexpr u64 kMost = u64{1} << 62;
  Churn churn;
  SpecReader reader(spec, "churn " + spec.name);
  if (spec.name == "drift" || spec.name == "flash") {
    if (!spec.arg) throw InputError(fmt::format("churn {0} needs a number of operations, as in {0}:10M", spec.name));
    churn.every = reader.arg_u64(0, 1, kMost);
    churn.kind = Kind::kDrift;
  } else if (spec.name != "none") {
    throw InputError(fmt::format("unknown churn '{}'; write none, drift:EVERY or flash:EVERY,share=0.5{}", spec.name,
                                 suggestion(spec.name, {"none", "drift", "flash"})));
  }
  if (spec.name == "flash") {
    churn.kind = Kind::kFlash;
    churn.share = reader.real("share", 0.5, 0, 1);
    churn.records = reader.number("records", 100, 1, kMost);
    churn.length = reader.number("length", churn.every / 10 + 1, 1, kMost);
    if (churn.length > churn.every) {
      throw InputError(fmt::format("churn flash: length={} is longer than the {} operations from one to the next",
                                   churn.length, churn.every));
    }
  }
  reader.finish();
  return churn;
}

void Churn::check(u64 among) const {
  if (kind == Kind::kFlash && records > among) {
    throw InputError(
        fmt::format("churn flash: a crowd of records={0} among {1}; write records={1} or fewer", records, among));
  }
}

}  // namespace latchlab
