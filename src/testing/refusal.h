// The refusal of wrong input, as tests check it: one line.

#pragma once

#include <string>

#include "src/base/error.h"

namespace latchlab::testing {

/// Returns the text of the InputError that `call` throws; "" if it throws none.
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
