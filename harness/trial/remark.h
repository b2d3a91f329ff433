// Remarks: what an account says besides its part of the document (account.h).
#pragma once

#include <string>
#include <vector>

#include "harness/result/result.h"

namespace latchlab {

/// The best status that a result can have, and the reason in one line. A remark with status ok is a note.
struct Remark {
  Status status = Status::kOk;
  std::string text;
};
using Remarks = std::vector<Remark>;

/// A part of the document, and the remarks of making it.
template <class Part>
struct Account {
  Part part;
  Remarks remarks;
};

}  // namespace latchlab
