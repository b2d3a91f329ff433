// What accounts have to say besides their parts of the document (account.h).
#pragma once

#include <string>
#include <vector>

#include "harness/result/result.h"

namespace latchlab {

/// What a result is at best, and why, in one line; a note where that is ok.
struct Remark {
  Status status = Status::kOk;
  std::string text;
};
using Remarks = std::vector<Remark>;

/// A part of the document and what was found while it was made.
template <class Part>
struct Account {
  Part part;
  Remarks remarks;
};

}  // namespace latchlab
