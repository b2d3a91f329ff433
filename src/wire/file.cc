#include "src/wire/file.h"

#include <unistd.h>

namespace latchlab {

File::~File() {
  if (number_ >= 0) close(number_);
}

}  // namespace latchlab
