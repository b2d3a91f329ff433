#include "harness/commands/list.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/host/pmu_access.h"
#include "harness/host/pmu_events.h"
#include "harness/result/build_info.h"
#include "src/base/error.h"
#include "workloads/shipped.h"
#include "workloads/trace_formats.h"

namespace latchlab {

namespace {

using Entries = std::vector<TopicEntries::Entry>;

std::string line(const std::string& word, const std::string& meaning) {
  return fmt::format("  {:<21} {}\n", word, meaning);
}

std::string lines(const std::vector<OptionInfo>& options) {
  std::string text;
  for (const OptionInfo& option : options) {
    text += fmt::format("    {:<19} {}\n", fmt::format("{}={}", option.key, option.standard), option.meaning);
  }
  return text;
}

/// Returns the name and version of the library that a peer is from.
std::string with_version(const std::string& library) {
  for (const auto& [name, version] : build_info().libraries) {
    if (name == library) return fmt::format("{} {}", name, version);
  }
  return library;  // a user's own peer, whose library this build does not know
}

std::string indexes(const Registry& registry, Scope scope) {
  std::string text;
  for (const std::string& index : registry.indexes()) {
    std::vector<std::string> traits;
    std::string library;
    for (const Pair& pair : registry.pairs()) {
      if (pair.index != index || pair.policy != registry.policies_of(index).front()) continue;
      if (traits.empty()) {
        traits.emplace_back(pair.ordered ? "ordered" : "not ordered");
        if (!pair.needs.empty()) traits.push_back("needs " + pair.needs);
        if (!pair.no_erase.empty()) traits.emplace_back("no erase");
        if (!pair.no_modify.empty()) traits.emplace_back("no modify");
        if (pair.learns) traits.emplace_back("learns from lookups");
      }
      traits.emplace_back(pair.keys == KeyKind::kU64 ? "integer keys" : "byte-string keys");
      library = pair.library;
    }
    if (!library.empty()) traits.push_back(scope == Scope::kHere ? with_version(library) : library);
    text +=
        line(index, fmt::format("{}; under {}", fmt::join(traits, ", "), fmt::join(registry.policies_of(index), ", ")));
    if (scope == Scope::kEverywhere) continue;  // defaults of options may be those that the processor has
    text += lines(std::ranges::find(registry.pairs(), index, &Pair::index)->index_options);
    std::vector<std::string> members;
    for (const Pair& pair : registry.pairs()) {
      const MeantBy& by = pair.meant_by;
      if (by.index != index || std::ranges::find(members, pair.index) != members.end()) continue;
      members.push_back(pair.index);
      text += fmt::format("    {:<19} means {}, with its options\n",
                          fmt::format("{}={}", by.option, by.value.empty() ? "..." : by.value), pair.index);
    }
  }
  for (const Lacking& lacking : registry.lacking())
    text += line(lacking.index, fmt::format("not in this build: under {}", fmt::join(lacking.policies, ", ")));
  if (scope == Scope::kEverywhere) text += "  harness list indexes: their options, and the versions of libraries.\n";
  return text;
}

std::string policies(const Registry& registry, Scope scope) {
  std::string text;
  const std::vector<std::string> built = registry.policies();
  for (const std::string& policy : built) {
    const auto pair = std::find_if(registry.pairs().begin(), registry.pairs().end(),
                                   [&](const Pair& p) { return p.policy == policy; });
    text += line(policy, pair->about) + lines(pair->options);
    if (scope == Scope::kEverywhere) continue;
    const Spec plain{.name = policy, .arg = {}, .options = {}};
    if (const auto why = pair->degraded(plain)) text += fmt::format("    {:<19} {}\n", "degraded here", *why);
  }
  std::vector<std::string> lacking = registry.existing_policies();
  std::erase_if(lacking, [&](const std::string& policy) { return std::ranges::count(built, policy) != 0; });
  if (!lacking.empty()) text += fmt::format("  not in this build: {}\n", fmt::join(lacking, ", "));
  if (scope == Scope::kEverywhere) text += "  harness list policies: which are degraded on this machine.\n";
  return text;
}

Entries workloads() {
  std::string names;
  for (const Shipped& shipped : shipped_wiscer_files())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", shipped.name);
  return {{"lookup", "reads only"},
          {"insert", "inserts every record once into an empty index, and then ends"},
          {"mix:read=90,insert=10",
           "percentages of read, insert, update, upsert, erase, scan, rmw, modify, increment, multi_get; sum 100;"},
          {"", "rmw is a lookup and then an update of its key: another thread may change the key in between;"},
          {"", "modify reads a value and stores another in one step"},
          {"  multi_get_keys=16", "keys that a multi-get looks up in one call, at most 256"},
          {"  scan_length=100", "pairs that a scan asks for; 1-100: uniform from 1 to 100"},
          {"ycsb-a ... ycsb-f", "YCSB's: read=50,update=50; read=95,update=5; reads; read=95,insert=5 by age;"},
          {"", "scan=95,insert=5; read=50,rmw=50; each with its own distribution unless --dist is given"},
          {"wiscer:FILE",
           "a workload file of Wiscer, which defines the index, the keys, their popularity and the operations;"},
          {"", fmt::format("Wiscer's own files have names: {}", names)},
          {"trace:FILE",
           "every operation of a trace (harness trace convert); operations on the same key keep their order;"},
          {"", "keys that it reads, updates or erases before it writes them are loaded before"},
          {"phases:FILE",
           "several mixes one after the other, a line NAME OPERATIONS WORKLOAD [DISTRIBUTION [CHURN]] for each;"},
          {"", "the result has a row for each, unless --rows asks for others"}};
}

Entries keys() {
  return {{"u64", "integers scattered over 64 bits"},
          {"u32", "integers scattered over 32 bits; up to 2^31 records"},
          {"u16", "integers scattered over 16 bits; up to 2^15 records"},
          {"dense", "0, 1, 2, ...; loaded in a random order, or in this order with in_order=1"},
          {"stride:N", "0, N, 2 N, ... modulo 2^64: these break weak hash functions"},
          {"affine", "n P + Q modulo 2^64, P odd, as in Wiscer; in_order=1 as with dense"},
          {"clustered:N", "runs of N neighbours (64), each at a random place in 64 bits"},
          {"file:PATH", "byte strings, one a line of at most 64 KiB; --records takes a random sample of the lines"},
          {"email:N, url:N", "N byte strings (1M) that look like email addresses or URLs"},
          {"sosd:PATH", "a file of SOSD: a count, then that many u64 keys"},
          {"trace:PATH", "the keys of a trace (harness trace convert); those loaded before it come first"}};
}

Entries distributions() {
  return {
      {"uniform", "all records are equally popular"},
      {"zipf:Q", "weight rank^-Q, any Q >= 0, ranks scattered over the records"},
      {"hotspot:F,hits=S",
       "the share F of the records (0.2) gets the share S of the operations (0.8); scattered=0: the first records"},
      {"self-similar:H", "the share H of the records gets 1-H of the operations, again within that share, and so on"},
      {"exponential:A", "weights fall by e^-A from the first rank to the last; YCSB's default is 3.495"},
      {"latest:Q", "zipf:Q (0.99) by age: the record inserted last is the most popular"},
      {"histogram:FILE", "a line for each range of ranks: its share of the records, and of the operations"}};
}

Entries arrivals() {
  return {{"1M, fixed:1M", "at equal intervals"},
          {"poisson:1M", "at random, as from independent clients"},
          {"sine:1M", "at random, at a rate that rises and falls around its mean"},
          {"  amplitude=0.5", "of the sine, as a share of the mean"},
          {"  period=10s", "of the sine"},
          {"trace, trace:2", "as the operations of --workload=trace:FILE came when it was recorded, or twice as fast"}};
}

Entries traces() {
  Entries entries;
  for (const TraceFormat& format : trace_formats())
    entries.push_back({std::string(format.name), std::string(format.meaning)});
  return entries;
}

Entries allocators() {
  return {{"malloc", "calls malloc for each node, from the library that the process was started with"},
          {"tcmalloc", "calls tcmalloc for each node: the process starts again with the library preloaded"},
          {"jemalloc", "the same with jemalloc"},
          {"mimalloc", "the same with mimalloc"},
          {"tbb",
           "the same with oneTBB's scalable allocator; if a list has several of these five, each run is a process "
           "of its own; with --machine each is a model of the allocator"},
          {"arena", "a pool for each thread; pages are faulted in on first use"},
          {"arena+touch", "a pool for each thread; pages are touched before nodes are put there"}};
}

Entries memory() {
  return {{"first-touch",
           "the system's rule: the node of the thread that touches a page first, or another if that is full"},
          {"local", "the node of the thread that asks for the memory, and no other"},
          {"interleave", "all nodes in turn, page by page"},
          {"interleave:pin", "the nodes of the processors that --pin names, in turn"},
          {"bind:0-1", "these nodes, the nearest first, and no other"}};
}

Entries hugepages() {
  return {{"none", "4K pages only"},
          {"thp", "transparent huge pages if the kernel has them; not with the malloc of any library"}};
}

/// Lists what each event is on this processor, and why it is not counted if it is not. A reason that all events of a
/// family share is listed once.
std::string pmu_families_and_events(const Registry&, Scope scope) {
  std::string text;
  for (const PmuFamily& family : pmu_families()) {
    text += line(std::string(family.name), std::string(family.meaning));
    if (scope == Scope::kEverywhere) {
      text += line("", fmt::format("{}", fmt::join(family.events, ", ")));
      continue;
    }
    std::vector<PmuEvent> events = pmu_events(family.name);
    std::erase_if(events, [&](const PmuEvent& event) { return event.family != family.name; });
    std::vector<std::string> whys = why_not_here(events);
    if (!whys.front().empty() && std::ranges::count(whys, whys.front()) == std::ssize(whys)) {
      text += line("", "none of them is counted here: " + whys.front());
      std::ranges::fill(whys, "");
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
      const std::string not_here = whys[i].empty() ? "" : "not counted here: " + whys[i];
      const std::string_view both = events[i].here.empty() || not_here.empty() ? "" : "; ";
      const std::string what = events[i].here + std::string(both) + not_here;
      text +=
          what.empty() ? fmt::format("    {}\n", events[i].name) : fmt::format("    {:<31} {}\n", events[i].name, what);
    }
  }
  text += line("NAME", "any event of libpfm4, with its parts and modifiers: RETIRED_INSTRUCTIONS:u") +
          line("off", "nothing, not even software events");
  if (scope == Scope::kEverywhere)
    text += "  harness list pmu: what each event is on this processor, and which are not counted.\n";
  return text;
}

Entries reclaimers() {
  return {{"epoch", "an operation stores its epoch; the thread that frees makes the other processors fence"},
          {"epoch-fence", "an operation stores its epoch and fences"},
          {"qsbr", "a thread announces a quiescent state every 64 operations"},
          {"leak", "nothing is freed before the index ends"}};
}

Entries placements() {
  return {{"compact", "one cluster after the other, socket by socket; a cluster shares an L3 cache and a NUMA node"},
          {"scatter", "sockets in turn, and within them clusters in turn"},
          {"cluster:0-1", "compact within these clusters"},
          {"socket:0", "compact within these sockets"},
          {"list:0-3,5", "these processors, in this order"}};
}

Entries hardware_threads() {
  return {{"avoid", "uses second hardware threads only when every core has a thread"},
          {"pack", "uses both hardware threads of a core before the next core"}};
}

/// Returns entries without meanings, in an order that does not depend on which are built.
Entries only_words(std::vector<std::string> words) {
  std::ranges::sort(words);
  Entries entries;
  for (std::string& word : words) entries.push_back({std::move(word), ""});
  return entries;
}

Entries index_words(const Registry& registry) { return only_words(registry.existing_indexes()); }

Entries policy_words(const Registry& registry) { return only_words(registry.existing_policies()); }

Entries pmu_words(const Registry&) {
  Entries entries;
  for (const PmuFamily& family : pmu_families())
    entries.push_back({std::string(family.name), std::string(family.meaning)});
  entries.push_back({"off", "nothing, not even software events"});
  return entries;
}

struct Topic {
  std::string_view name;
  std::string_view option;
  Entries (*entries)() = nullptr;
  // A topic whose text depends on the build or the machine has these two instead of `entries`.
  std::string (*text)(const Registry&, Scope) = nullptr;
  Entries (*words)(const Registry&) = nullptr;
  std::string_view note = "";  ///< below the entries
};

constexpr Topic kTopics[] = {
    {.name = "indexes", .option = "--index", .text = indexes, .words = index_words},
    {.name = "policies", .option = "--sync", .text = policies, .words = policy_words},
    {.name = "workloads", .option = "--workload", .entries = workloads},
    {.name = "keys", .option = "--keys", .entries = keys},
    {.name = "distributions", .option = "--dist", .entries = distributions},
    {.name = "traces", .option = "trace convert", .entries = traces},
    {.name = "arrivals", .option = "--rate", .entries = arrivals},
    {.name = "allocators", .option = "--alloc", .entries = allocators},
    {.name = "memory",
     .option = "--mem",
     .entries = memory,
     .note =
         "  With arenas this places only the index's memory. With malloc, or an index with its own memory, it places "
         "all pages that the threads touch first.\n"
         "  On these nodes the index and its values (--value-size) together take at most the memory that is available "
         "when the run begins.\n"},
    {.name = "hugepages", .option = "--hugepages", .entries = hugepages},
    {.name = "reclaimers", .option = "--reclaim", .entries = reclaimers},
    {.name = "placements", .option = "--pin", .entries = placements},
    {.name = "hardware-threads", .option = "--smt", .entries = hardware_threads},
    {.name = "pmu", .option = "--pmu", .text = pmu_families_and_events, .words = pmu_words},
};

std::string text_of(const Topic& topic, const Registry& registry, Scope scope) {
  if (topic.text != nullptr) return topic.text(registry, scope);
  std::string text;
  for (const auto& [word, meaning] : topic.entries()) text += line(word, meaning);
  return text + std::string(topic.note);
}

}  // namespace

std::string list_text(const Registry& registry, const std::string& topic, Scope scope) {
  std::string text;
  std::vector<std::string> names;
  for (const Topic& known : kTopics) {
    names.emplace_back(known.name);
    if (!topic.empty() && topic != known.name) continue;
    if (!text.empty()) text += '\n';
    text += fmt::format("{} ({}=)\n{}", known.name, known.option, text_of(known, registry, scope));
  }
  if (!text.empty()) return text;
  throw InputError(
      fmt::format("list: there is no '{}'; there are {}{}", topic, fmt::join(names, ", "), suggestion(topic, names)));
}

std::vector<TopicEntries> list_entries(const Registry& registry) {
  std::vector<TopicEntries> topics;
  for (const Topic& topic : kTopics) {
    topics.push_back({topic.name, topic.option, topic.text == nullptr ? topic.entries() : topic.words(registry)});
  }
  return topics;
}

std::vector<std::string> list_topics() {
  std::vector<std::string> names;
  for (const Topic& topic : kTopics) names.emplace_back(topic.name);
  return names;
}

}  // namespace latchlab
