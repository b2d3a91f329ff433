#include <fmt/format.h>

#include "src/base/error.h"
#include "src/memory/media/memkind_pages.h"

namespace latchlab {

std::shared_ptr<PageSource> memkind_pages(const std::string&, u64, std::string_view what) {
  throw InputError(
      fmt::format("{}: this program was built without libmemkind; install libmemkind-dev and build again", what));
}

}  // namespace latchlab
