#pragma once
// `olc`: optimistic lock coupling (Leis, Scheibner, Kemper, Neumann, DaMoN 2016). Every node has a version, which
// readers validate.
#include "sync/layout.h"
#include "sync/optimistic.h"

namespace latchlab {

template <class M, class Bugs = NoBugs>
class Olc : public Optimistic<VersionedLayout<M, Bugs>> {
 public:
  static constexpr std::string_view kName = "olc";
  static constexpr std::string_view kAbout = "optimistic lock coupling: a version in every node";

  explicit Olc(const NoOptions&) {}
};

}  // namespace latchlab
