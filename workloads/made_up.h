#pragma once

// Byte strings that look like what people index, made up from a seed: their lengths, shared beginnings and skewed
// domains are those of such keys, and no two are the same. One a line.
//
//   email   olga.petrov417@mail.example             15 to 40 bytes, begins share little
//   url     https://www.novaforge.example/reviews/amber-canyon-18203      40 to 80 bytes, long shared beginnings

#include <string>

#include "src/base/types.h"

namespace latchlab {

[[nodiscard]] std::string made_up_emails(u64 count, u64 seed);
[[nodiscard]] std::string made_up_urls(u64 count, u64 seed);

}  // namespace latchlab
