#include "src/vector/update_table.h"

// The header of the build's own functions: user_functions.h, or what LATCHLAB_VECTOR_FUNCTIONS names.
#include LATCHLAB_VECTOR_FUNCTIONS

namespace latchlab::vectors {
namespace {

constexpr auto kTable = table_of(BuiltInFunctions(), UserFunctions());
static_assert(kTable[static_cast<std::size_t>(UpdateFunction::kSet)].name == Set::kName,
              "UpdateFunction has its order");
static_assert(kTable.size() <= 210, "UpdateFunction has eight bits");

constexpr bool names_differ() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (kTable[i].name == kTable[j].name) return false;
    }
  }
  return true;
}
static_assert(names_differ(), "two vector functions have one name");

}  // namespace

std::span<const UpdateEntry> update_table() { return kTable; }

}  // namespace latchlab::vectors
