// Turns what was measured into the values of a machine file.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/commands/machine_survey.h"
#include "src/base/error.h"
#include "src/base/file_error.h"
#include "src/base/printable.h"
#include "src/base/spec.h"
#include "src/model/fields.h"
#include "src/model/machine_text.h"

namespace latchlab {

namespace {

using model::Distance;
using model::Field;
using model::MachineFile;
using model::Tag;

/// Rounds to three digits, since no number here is more exact.
double rounded(double number) {
  if (number == 0) return 0;
  const double unit = std::pow(10, std::floor(std::log10(std::abs(number))) - 2);
  // Units below one are divided by their inverse, which is a whole number.
  return unit < 1 ? std::round(number * std::round(1 / unit)) / std::round(1 / unit) : std::round(number / unit) * unit;
}

std::string size_text(u64 bytes) {
  return bytes < 1 << 20 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} MiB", bytes >> 20);
}

/// Returns `next` of two values, or the reason why the first missing one is.
template <class A, class B, class Next>
OrReason<double> of_both(const OrReason<A>& a, const OrReason<B>& b, const Next& next) {
  if (!a) return OrReason<double>::missing(a.reason);
  return then(b, [&](const B& value) { return next(*a, value); });
}

/// The measured values of the keys of a machine file.
class MeasuredValues {
 public:
  struct Known {
    OrReason<std::string> text;
    std::string how;
    Tag tag = Tag::kMeasured;
  };

  explicit MeasuredValues(const MachineSurvey& survey) : s_(survey) {
    add_shape();
    add_caches();
    add_levels();
    add_transfers();
    add_core();
    add_kernel();
  }

  /// Returns what is known of a key; null if this machine was not asked for it.
  [[nodiscard]] const Known* find(std::string_view key) const {
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : &found->second;
  }
  /// Adds the cost of transactions, which `like` shares out between begin and commit.
  void add_transactions(const MachineFile& like) {
    const auto& htm = like.parameters().htm;
    const double total = std::max(0., *s_.transaction_ns - (s_.l1 ? s_.l1->ns : 0));
    const double begin = htm.begin + htm.commit == 0 ? .5 : htm.begin / (htm.begin + htm.commit);
    const std::string how = fmt::format(
        "a transaction that reads one line takes {} ns; without the load, shared out between begin and commit as in {}",
        rounded(*s_.transaction_ns), like.name());
    known_["htm.begin"] = {fmt::format("{}", rounded(total * begin)), how, Tag::kAssumed};
    known_["htm.commit"] = {fmt::format("{}", rounded(total * (1 - begin))), how, Tag::kAssumed};
  }

 private:
  void add(const std::string& key, const OrReason<double>& value, const std::string& how) {
    known_[key] = {value ? OrReason<std::string>(fmt::format("{}", rounded(*value)))
                         : OrReason<std::string>::missing(value.reason),
                   how};
  }
  void add_shape() {
    const std::string how = "the processors that the process may use";
    for (const auto& [key, value] : {std::pair{"sockets", s_.shape.sockets}, std::pair{"clusters", s_.shape.clusters},
                                     std::pair{"cores", s_.shape.cores}, std::pair{"threads", s_.shape.threads}}) {
      known_[fmt::format("topology.{}", key)] = {fmt::format("{}", value), how};
    }
    known_["clock.ghz_by_active"] = {then(s_.cycle_ns,
                                          [](const std::vector<double>& cycles) {
                                            std::vector<double> ghz;
                                            for (const double cycle : cycles) ghz.push_back(rounded(1 / cycle));
                                            return fmt::format("[{}]", fmt::join(ghz, ", "));
                                          }),
                                     "additions each of which waits for the one before it"};
  }
  void add_caches() {
    for (u32 level = 1; level <= 3; ++level) {
      const auto cache = std::ranges::find_if(
          s_.caches, [&](const CacheInfo& c) { return c.level == level && c.type != "instruction"; });
      const OrReason<u64> bytes = cache == s_.caches.end()
                                      ? OrReason<u64>::missing(fmt::format("the kernel lists no L{} cache", level))
                                      : cache->bytes;
      const double unit = level == 3 ? (1 << 20) / s_.l3_share : 1 << 10;
      add(level == 3 ? "l3.mb_per_cluster" : fmt::format("l{}.kb", level),
          then(bytes, [&](u64 b) { return static_cast<double>(b) / unit; }), "as the kernel lists it");
      known_[fmt::format("l{}.ways", level)] = {then(s_.ways[level - 1], [](u32 w) { return fmt::format("{}", w); }),
                                                "as the kernel lists it"};
    }
    known_["l3.kind"] = {
        then(s_.l3_inclusive, [](bool inclusive) { return std::string(inclusive ? "inclusive" : "victim"); }),
        "CPUID says whether it is inclusive"};
  }
  void add_level(const std::string& key, const OrReason<MachineSurvey::Level>& level) {
    add(key, then(level, [](const auto& l) { return l.ns; }),
        level ? fmt::format("a chase over {} on huge pages", size_text(level->bytes)) : "");
  }
  void add_levels() {
    add_level("l1.ns", s_.l1);
    add_level("l2.ns", s_.l2);
    add_level("l3.ns", s_.l3);
    add_level("dram.local", at(s_.memory, Distance::kLocal));
    add_level("dram.cluster", at(s_.memory, Distance::kCluster));
    add_level("dram.socket", at(s_.memory, Distance::kSocket));
    add("dram.gbps_per_cluster", s_.gb_per_cluster, "lines read in order by all cores");
    add("qpi.gbps", s_.gb_over_link, "lines of another socket read in order by all cores of one");
    const auto& memory = at(s_.memory, Distance::kLocal);
    add("tlb.walk_ns",
        of_both(memory, s_.small_pages_ns,
                [](const MachineSurvey::Level& huge, double small) { return std::max(0., small - huge.ns); }),
        memory ? fmt::format("a chase over {} on small pages, less one on huge pages", size_text(memory->bytes)) : "");
  }
  void add_transfers() {
    const std::string written = "a chase over lines that a core at this distance has just written";
    add("l3.modified_elsewhere", at(s_.written_elsewhere_ns, Distance::kLocal), written);
    add("cluster.modified", at(s_.written_elsewhere_ns, Distance::kCluster), written);
    add("socket.modified", at(s_.written_elsewhere_ns, Distance::kSocket), written);
    const std::string taken =
        "an atomic increment of a line that a core at this distance has read, less one of a line of the own L1";
    const auto without_increment = [&](Distance distance) {
      return of_both(at(s_.taken_from_reader_ns, distance), s_.fetch_add_ns,
                     [](double taken_and_added, double added) { return std::max(.1, taken_and_added - added); });
    };
    add("l3.exclusive_elsewhere", without_increment(Distance::kLocal), taken);
    add("cluster.l3", without_increment(Distance::kCluster), taken);
    add("socket.l3", without_increment(Distance::kSocket), taken);
  }
  void add_core() {
    add("core.fill_buffers",
        of_both(at(s_.memory, Distance::kLocal), s_.independent_ns,
                [](const MachineSurvey::Level& memory, double independent) {
                  return std::max(1., std::round(memory.ns / independent));
                }),
        "the time of a dependent line over that of an independent one, both from memory");
    add("core.atomic_ns",
        of_both(s_.fetch_add_ns, s_.l1,
                [](double added, const MachineSurvey::Level& l1) { return std::max(0., added - l1.ns); }),
        "an atomic increment of a line of the own L1, less a load");
  }
  void add_kernel() {
    constexpr double kSmall = 4096;
    constexpr double kHuge = 2 << 20;
    // Two sizes of pages tell the cost of a fault from that of clearing a byte.
    const OrReason<double> per_byte = of_both(s_.small_fault_ns, s_.huge_fault_ns, [](double small, double huge) {
      return std::max(0., (huge - small) / (kHuge - kSmall));
    });
    add("kernel.clear_ns_per_byte", per_byte, "first touches of pages of 2 MiB and of 4 KiB, by their difference");
    add("kernel.fault_ns", then(per_byte, [&](double c) { return std::max(0., *s_.small_fault_ns - c * kSmall); }),
        "a first touch of a page of 4 KiB, less its clearing");
    add("kernel.mprotect_ns", s_.protect_ns, "mprotect of one page after the other");
    add("kernel.hz", s_.tick_hz, "the resolution of CLOCK_MONOTONIC_COARSE");
    if (s_.numa_balancing && !*s_.numa_balancing) add("kernel.marks_per_s", 0., "NUMA balancing is off");
  }
  template <class T>
  static const OrReason<T>& at(const MachineSurvey::ByDistance<T>& all, Distance distance) {
    return all[static_cast<std::size_t>(distance)];
  }

  const MachineSurvey& s_;
  std::map<std::string, Known, std::less<>> known_;
};

/// Returns the value of `like`, and says so.
MachineFile::Value assumed(const MachineFile::Value& there, const std::string& like, const std::string& why) {
  MachineFile::Value value = there;
  value.source = fmt::format("from {}, {} there: {}{}", like, word(there.tag), there.source,
                             why.empty() ? "" : fmt::format(" (here: {})", why));
  value.tag = Tag::kAssumed;
  return value;
}

}  // namespace

std::string_view machine_like(std::string_view vendor, const OrReason<bool>& l3_inclusive) {
  if (vendor == "AuthenticAMD") return "epyc";
  return vendor == "GenuineIntel" && l3_inclusive && !*l3_inclusive ? "sapphire-rapids" : "haswell-ep";
}

std::string machine_text(const MachineSurvey& survey, std::string_view name, const MachineFile& like) {
  const std::string here = fmt::format("this machine: ./bench limits, {}, {}", survey.date, survey.model);
  MeasuredValues measured(survey);
  std::string comment = fmt::format(
      "Written by ./bench limits --write-machine on {}: {}.\nWhat could not be measured is from {}, and is assumed.",
      survey.date, printable(survey.model), like.name());
  for (const std::string& note : survey.notes) comment += '\n' + printable(note) + '.';
  if (survey.transaction_ns) {
    if (!like.parameters().htm.present) {
      throw InputError(fmt::format(
          "--like={}: it has no transactions, and this machine has; write --like=haswell-ep or another with [htm]",
          like.name()));
    }
    measured.add_transactions(like);
  } else {
    comment += fmt::format("\nIt has no table [htm]: {}.", printable(survey.transaction_ns.reason));
  }
  model::Parameters parameters{};
  std::vector<MachineFile::Value> values;
  for (const Field& field : model::fields_of(parameters)) {
    if (field.table() == "htm" && !survey.transaction_ns) continue;
    const MeasuredValues::Known* const known = measured.find(field.key);
    std::string why = known == nullptr ? "" : known->text.reason;
    if (known != nullptr && known->text) {
      why = field.set(*known->text);
      if (why.empty()) {
        values.push_back({.key = std::string(field.key),
                          .text = field.text(),
                          .unit = std::string(field.unit),
                          .source = fmt::format("{}: {}", here, known->how),
                          .tag = known->tag});
        continue;
      }
      why = fmt::format("measured as {}, but {}", *known->text, why);
    }
    const auto there = std::ranges::find(like.values(), field.key, &MachineFile::Value::key);
    values.push_back(assumed(*there, like.name(), why));
  }
  return model::machine_text(comment, name, values);
}

std::string write_machine(const std::string& path, const std::string& like, const MachineSurvey& survey) {
  const std::string_view nearest = machine_like(survey.vendor, survey.l3_inclusive);
  const MachineFile other = MachineFile::of(Spec::parse(like.empty() ? std::string(nearest) : like));
  const std::string text = machine_text(survey, std::filesystem::path(path).stem().string(), other);
  const MachineFile written = MachineFile::parse(text, path);  // refuses what --machine would
  // x: another process may have made the file since the command line was checked.
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "wx"), close);
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    throw file_error("machine", path, fmt::format("cannot be written: {}", std::generic_category().message(errno)));
  }
  const auto is_measured = [](const MachineFile::Value& value) { return value.tag == Tag::kMeasured; };
  return fmt::format("machine: {} of {} values are measured; {} has the others{}; wrote {}\n",
                     std::ranges::count_if(written.values(), is_measured), written.values().size(), other.name(),
                     like.empty() ? ", the nearest shipped machine (--like=NAME)" : "", printable(path));
}

}  // namespace latchlab
