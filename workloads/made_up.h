#pragma once

// Made-up byte strings that look like keys of real indexes. Their lengths, shared prefixes and skewed domains resemble
// such keys. All are distinct. They are a function of the seed, one a line.
//
//   email   olga.petrov417@mail.example             15 to 40 bytes, short shared prefixes
//   url     https://www.novaforge.example/reviews/amber-canyon-18203      40 to 80 bytes, long shared prefixes

#include <string>

#include "src/base/types.h"

namespace latchlab {

[[nodiscard]] std::string made_up_emails(u64 count, u64 seed);
[[nodiscard]] std::string made_up_urls(u64 count, u64 seed);

}  // namespace latchlab
