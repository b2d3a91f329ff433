// What a test wants of wrong input: the one line that refuses it.

#pragma once

#include <string>

#include "src/base/error.h"

namespace latchlab::testing {

/// What the InputError says that `call` throws; "" when it throws none.
template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace latchlab::testing
