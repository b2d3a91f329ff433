#include "harness/host/pmu_events.h"

#include <perfmon/pfmlib_perf_event.h>
#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "src/base/error.h"
#include "src/base/spec.h"

namespace latchlab {
namespace {

/// An event of a family, and its names in libpfm4 on this processor and others.
struct EventRow {
  std::string_view name;
  std::vector<const char*> spellings;
};

struct EventTable {
  std::string_view family, meaning;
  bool of_transactions;
  std::vector<EventRow> rows;
};

// A family has at most four events that need a counter: a hardware thread that shares its core has that many counters.
const std::vector<EventTable>& tables() {
  static const std::vector<EventTable> all{
      {kSoftwareFamily,
       "events that the kernel itself counts; always available",
       false,
       {{"page-faults", {"perf::PAGE-FAULTS"}},
        {"context-switches", {"perf::CONTEXT-SWITCHES"}},
        {"cpu-migrations", {"perf::CPU-MIGRATIONS"}}}},
      {"core",
       "cycles and instructions that a thread executes",
       false,
       {{"cycles", {"perf::CYCLES"}},
        {"instructions", {"perf::INSTRUCTIONS"}},
        {"branch-misses", {"perf::BRANCH-MISSES"}}}},
      {"cache",
       "misses of the first-level and the last-level cache",
       false,
       {{"L1-dcache-loads", {"perf::L1-DCACHE-LOADS"}},
        {"L1-dcache-load-misses", {"perf::L1-DCACHE-LOAD-MISSES"}},
        {"cache-references", {"perf::CACHE-REFERENCES"}},
        {"cache-misses", {"perf::CACHE-MISSES"}}}},
      // Every vendor has its own name for this event. It has a family of its own, since it would be the fifth event of
      // `cache` that needs a counter.
      {"l2",
       "requests that miss the second-level cache",
       false,
       {{"L2-misses",
         {"L2_RQSTS:MISS", "L2_RQSTS:ALL_DEMAND_MISS", "L2_REQUESTS:MISS",
          "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C:IC_FILL_MISS", "L2_CACHE_MISS:ALL"}}}},
      {"tlb",
       "address translations that miss the TLB",
       false,
       {{"dTLB-loads", {"perf::DTLB-LOADS"}},
        {"dTLB-load-misses", {"perf::DTLB-LOAD-MISSES"}},
        {"dTLB-store-misses", {"perf::DTLB-STORE-MISSES"}},
        {"iTLB-load-misses", {"perf::ITLB-LOAD-MISSES"}}}},
      {"tsx",
       "hardware transactions; cycles-t are cycles in transactions, cycles-ct cycles in those that committed",
       true,
       {{"cycles", {"perf::CYCLES"}},
        {"cycles-t", {"CPU_CLK_UNHALTED:THREAD_P:intx=1"}},
        {"cycles-ct", {"CPU_CLK_UNHALTED:THREAD_P:intx=1:intxcp=1"}},
        {"RTM_RETIRED:START", {"RTM_RETIRED:START"}},
        {"RTM_RETIRED:COMMIT", {"RTM_RETIRED:COMMIT"}},
        {"RTM_RETIRED:ABORTED", {"RTM_RETIRED:ABORTED"}},
        {"RTM_RETIRED:ABORTED_MEM", {"RTM_RETIRED:ABORTED_MEM", "RTM_RETIRED:ABORTED_MISC1"}},
        {"RTM_RETIRED:ABORTED_UNFRIENDLY", {"RTM_RETIRED:ABORTED_UNFRIENDLY", "RTM_RETIRED:ABORTED_MISC3"}},
        {"RTM_RETIRED:ABORTED_MEMTYPE", {"RTM_RETIRED:ABORTED_MEMTYPE", "RTM_RETIRED:ABORTED_MISC4"}},
        {"RTM_RETIRED:ABORTED_EVENTS", {"RTM_RETIRED:ABORTED_EVENTS", "RTM_RETIRED:ABORTED_MISC5"}},
        {"TX_MEM:ABORT_CONFLICT", {"TX_MEM:ABORT_CONFLICT"}},
        {"TX_MEM:ABORT_CAPACITY_WRITE", {"TX_MEM:ABORT_CAPACITY_WRITE", "TX_MEM:ABORT_CAPACITY"}},
        {"TX_MEM:ABORT_CAPACITY_READ", {"TX_MEM:ABORT_CAPACITY_READ"}}}},
      {"energy",
       "energy of whole packages, whatever runs there",
       false,
       {{"energy-pkg", {"rapl::RAPL_ENERGY_PKG", "amd64_rapl::RAPL_ENERGY_PKG"}}}},
  };
  return all;
}

/// Initialises libpfm4 on the first call, and returns true if it knows the processor. Not thread-safe.
bool library_works() {
  static const bool works = pfm_initialize() == PFM_SUCCESS;
  return works;
}

template <class Info>
Info sized() {
  Info info{};
  info.size = sizeof info;
  return info;
}

void for_each_pmu(auto&& visit) {
  if (!library_works()) return;
  for (int id = PFM_PMU_NONE; id < PFM_PMU_MAX; ++id) {
    auto pmu = sized<pfm_pmu_info_t>();
    if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(id), &pmu) == PFM_SUCCESS) visit(pmu);
  }
}

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

/// Returns libpfm4's full name, such as "skx::RTM_RETIRED:START:e=0:i=0:intx=1:u=1:k=1", without the default modifiers.
std::string without_defaults(std::string_view full) {
  std::string out;
  while (!full.empty()) {
    const std::size_t end = std::min(full.find(':', full.starts_with(':') ? 1 : 0), full.size());
    const std::string_view piece = full.substr(0, end);
    const bool standard = piece.ends_with("=0") || piece == ":u=1" || piece == ":k=1" || piece == ":mh=1";
    if (!standard) out += piece;
    full.remove_prefix(end);
  }
  return out;
}

/// The event that libpfm4 finds for a name, or its complaint.
struct Encoded {
  std::optional<PmuEvent> event;
  std::string complaint;
};

Encoded encode(const std::string& spelling) {
  if (!library_works()) return {.event = {}, .complaint = "libpfm4 does not know this kind of machine"};
  perf_event_attr attributes{};
  char* full = nullptr;
  auto request = sized<pfm_perf_encode_arg_t>();
  request.attr = &attributes;
  request.fstr = &full;
  const int status = pfm_get_os_event_encoding(spelling.c_str(), PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &request);
  if (status != PFM_SUCCESS) return {.event = {}, .complaint = pfm_strerror(status)};
  PmuEvent event;
  event.here = without_defaults(full);
  std::free(full);
  event.code = {.type = attributes.type,
                .config = attributes.config,
                .config1 = attributes.config1,
                .config2 = attributes.config2,
                .exclude_user = attributes.exclude_user != 0,
                .exclude_kernel = attributes.exclude_kernel != 0};
  auto about = sized<pfm_event_info_t>();
  auto pmu = sized<pfm_pmu_info_t>();
  event.of_packages = pfm_get_event_info(request.idx, PFM_OS_PERF_EVENT, &about) == PFM_SUCCESS &&
                      pfm_get_pmu_info(about.pmu, &pmu) == PFM_SUCCESS && pmu.type == PFM_PMU_TYPE_UNCORE;
  return {.event = event, .complaint = {}};
}

std::string not_here() {
  const std::string processor = pmu_processor();
  return fmt::format("libpfm4 has no such event for this machine{}",
                     processor.empty() ? "" : ", which is " + processor);
}

/// Returns why a processor without transactions does not count this event; empty if it can be counted. Its kernel would
/// ignore the transaction bits and count all cycles.
std::string needs_transactions(const PerfCode& code, const CpuFlags& flags) {
  constexpr u64 kInTransaction = u64{3} << 32;  // IN_TX and IN_TXCP of the event select register
  const bool asks = code.type == PERF_TYPE_RAW && (code.config & kInTransaction) != 0;
  return asks && !flags.rtm && !flags.hle ? "the processor announces no transactions (harness doctor says more)" : "";
}

PmuEvent event_of(const EventTable& table, const EventRow& row, const CpuFlags& flags) {
  PmuEvent out;
  out.missing = not_here();
  for (const char* spelling : row.spellings) {
    if (Encoded encoded = encode(spelling); encoded.event) {
      out = std::move(*encoded.event);
      break;
    }
  }
  if (table.of_transactions && !flags.rtm) out.missing = "the processor announces no RTM (harness doctor says more)";
  out.name = row.name;
  out.family = table.family;
  return out;
}

/// An event in libpfm4's tables, with the words that may follow its name.
struct Known {
  std::string pmu;
  bool present = false;
  std::vector<std::string> parts;  ///< unit masks
  std::vector<std::string> modifiers;
};

/// Returns all processors' events of this name, without what follows it. O(all events of all processors): some
/// milliseconds.
std::vector<Known> known_as(std::string_view pmu_name, std::string_view event_name) {
  std::vector<Known> out;
  for_each_pmu([&](const pfm_pmu_info_t& pmu) {
    if (!pmu_name.empty() && !same_word(pmu_name, pmu.name)) return;
    for (int id = pmu.first_event; id != -1; id = pfm_get_event_next(id)) {
      auto event = sized<pfm_event_info_t>();
      if (pfm_get_event_info(id, PFM_OS_PERF_EVENT, &event) != PFM_SUCCESS || !same_word(event.name, event_name))
        continue;
      Known& known =
          out.emplace_back(Known{.pmu = pmu.name, .present = pmu.is_present != 0, .parts = {}, .modifiers = {}});
      for (int i = 0; i < event.nattrs; ++i) {
        auto attribute = sized<pfm_event_attr_info_t>();
        if (pfm_get_event_attr_info(id, i, PFM_OS_PERF_EVENT, &attribute) != PFM_SUCCESS) continue;
        (attribute.type == PFM_ATTR_UMASK ? known.parts : known.modifiers).emplace_back(attribute.name);
      }
    }
  });
  return out;
}

/// Returns the first word behind an event's name (":START:intx=1") that the event does not have; empty if it has all.
std::string unknown_part(std::string_view behind, const Known& known) {
  while (!behind.empty()) {
    behind.remove_prefix(1);
    const std::string_view whole = behind.substr(0, behind.find(':'));
    const std::string_view word = whole.substr(0, whole.find('='));
    const auto is_it = [&](const std::string& other) { return same_word(word, other); };
    const bool known_word = std::ranges::any_of(known.parts, is_it) || std::ranges::any_of(known.modifiers, is_it);
    if (!known_word) return whole.empty() ? ":" : std::string(whole);
    behind.remove_prefix(whole.size());
  }
  return "";
}

/// Returns the error for a wrong word behind the name of an event that exists.
InputError wrong_part(const std::string& text, const Known& known, std::string_view name, const std::string& word,
                      const std::string& complaint) {
  if (word.empty()) return InputError(fmt::format("--pmu: '{}': libpfm4 says: {}", text, complaint));
  const std::vector<std::string>& all = known.parts.empty() ? known.modifiers : known.parts;
  return InputError(fmt::format("--pmu: '{}': {} has no '{}'; it has {}{}", text, name, word, fmt::join(all, ", "),
                                suggestion(word, all)));
}

PmuEvent named_event(const std::string& text, const CpuFlags& flags) {
  Encoded encoded = encode(text);
  if (encoded.event) {
    encoded.event->name = text;
    encoded.event->family = kNamedFamily;
    encoded.event->missing = needs_transactions(encoded.event->code, flags);
    return *encoded.event;
  }
  const std::size_t colons = text.find("::");
  const std::string pmu = colons == std::string::npos ? "" : text.substr(0, colons);
  const std::string rest = colons == std::string::npos ? text : text.substr(colons + 2);
  const std::string name = rest.substr(0, rest.find(':'));
  const std::vector<Known> all = known_as(pmu, name);
  if (all.empty()) {
    std::vector<std::string> families;
    for (const EventTable& table : tables()) families.emplace_back(table.family);
    throw InputError(fmt::format("--pmu: '{}' is neither a family nor an event of libpfm4; families are {}{}", text,
                                 fmt::join(families, ", "), suggestion(text, families)));
  }
  const std::string_view behind = std::string_view(rest).substr(name.size());
  std::vector<std::string> processors;
  for (const Known& known : all) {
    const std::string word = unknown_part(behind, known);
    if (known.present) throw wrong_part(text, known, name, word, encoded.complaint);
    if (word.empty()) processors.push_back(known.pmu);
  }
  if (processors.empty()) {
    throw wrong_part(text, all.front(), name, unknown_part(behind, all.front()), encoded.complaint);
  }
  PmuEvent out;
  out.name = text;
  out.family = kNamedFamily;
  out.missing = fmt::format("{}; it has one for {}", not_here(), fmt::join(processors, ", "));
  return out;
}

const EventTable* family_of(std::string_view word) {
  const auto found = std::ranges::find(tables(), word, &EventTable::family);
  return found == tables().end() ? nullptr : &*found;
}

}  // namespace

std::vector<PmuFamily> pmu_families() {
  std::vector<PmuFamily> out;
  for (const EventTable& table : tables()) {
    PmuFamily& family = out.emplace_back(PmuFamily{.name = table.family, .meaning = table.meaning, .events = {}});
    for (const EventRow& row : table.rows) family.events.push_back(row.name);
  }
  return out;
}

std::vector<std::string> pmu_names(std::string_view family, std::string_view event) {
  std::vector<std::string> names{fmt::format("{}.{}", family, event)};
  const EventTable* const table = family_of(family);
  if (table == nullptr) return names;
  const auto row = std::ranges::find(table->rows, event, &EventRow::name);
  if (row == table->rows.end()) return names;
  for (const char* spelling : row->spellings) names.push_back(fmt::format("{}.{}", kNamedFamily, spelling));
  return names;
}

std::string pmu_processor() {
  std::string name;
  for_each_pmu([&](const pfm_pmu_info_t& pmu) {
    if (pmu.is_present != 0 && pmu.type == PFM_PMU_TYPE_CORE) name = pmu.name;
  });
  return name;
}

std::vector<PmuEvent> pmu_events(std::string_view words, const CpuFlags& flags) {
  if (words == "off") return {};
  std::vector<std::string> asked{std::string(kSoftwareFamily)};
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    const std::string word(words.substr(begin, end - begin));
    begin = end + 1;
    if (word.empty()) throw InputError(fmt::format("--pmu: '{}' has an empty element", words));
    if (word == "off") throw InputError(fmt::format("--pmu: '{}': off must stand alone", words));
    if (word == kSoftwareFamily) continue;
    if (std::ranges::count(asked, word) != 0) throw InputError(fmt::format("--pmu: '{}' has {} twice", words, word));
    asked.push_back(word);
  }
  std::vector<PmuEvent> events;
  for (const std::string& word : asked) {
    if (const EventTable* table = family_of(word)) {
      for (const EventRow& row : table->rows) events.push_back(event_of(*table, row, flags));
    } else {
      events.push_back(named_event(word, flags));
    }
  }
  return events;
}

}  // namespace latchlab
