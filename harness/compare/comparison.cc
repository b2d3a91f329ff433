#include "harness/compare/comparison.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "harness/compare/outliers.h"
#include "harness/result/document.h"
#include "src/base/error.h"

namespace latchlab {

namespace {

using Figure = OrReason<double>;
using Figures = OrReason<std::vector<double>>;

/// Divides one count by another. Without transactions there are no aborts, so there is no ratio either.
Figure ratio_of(const TrialResult& trial, u64 above, u64 below) {
  if (!trial.sync.aborts) return Figure::missing(trial.sync.aborts.reason);
  return below > 0 ? Figure(static_cast<double>(above) / static_cast<double>(below))
                   : Figure::missing("the count to divide by is 0");
}

/// Reads a figure of every replicate that counts.
Figures figures_of(const VariantSummary& variant, auto&& read) {
  std::vector<double> values;
  std::string why = "no replicate counts";
  for (const Replicate& replicate : variant.replicates) {
    if (!replicate.counts()) continue;
    const Figure figure = read(replicate.trial);
    figure ? values.push_back(*figure) : void(why = figure.reason);
  }
  return values.empty() ? Figures::missing(why) : Figures(std::move(values));
}

Figure median_of(const Figures& figures) { return then(figures, median); }

/// Returns the figure if all replicates agree: a mean or median of two page sizes is not a page size.
Figure agreed(const Figures& figures) {
  if (!figures) return Figure::missing(figures.reason);
  const auto [least, most] = std::minmax_element(figures->begin(), figures->end());
  return *least == *most ? Figure(*least) : Figure::missing("the replicates differ");
}

/// Returns the median response time of the replicates that count.
Figure response_of(const VariantSummary& variant) {
  std::vector<double> values;
  for (const Replicate& replicate : variant.replicates) {
    if (replicate.counts() && replicate.response_ns) values.push_back(*replicate.response_ns);
  }
  return values.empty() ? Figure::missing("its speed is its throughput") : Figure(median(std::move(values)));
}

void find_figures(VariantSummary& variant) {
  const auto figures = [&](const auto& read) { return figures_of(variant, read); };
  const SyncStats::Counts none;
  variant.bytes_per_key = median_of(figures([](const TrialResult& t) { return t.memory.bytes_per_key; }));
  variant.page_bytes = agreed(figures([](const TrialResult& t) {
    return then(t.memory.page_bytes, [](u64 bytes) { return static_cast<double>(bytes); });
  }));
  variant.fallback_rate = median_of(figures([](const TrialResult& t) { return t.sync.fallback_rate; }));
  variant.commits_per_begin = median_of(figures([&](const TrialResult& t) {
    const SyncStats::Counts& counters = t.sync.counters ? *t.sync.counters : none;
    return ratio_of(t, count_of(counters, "commits"), count_of(counters, "begins"));
  }));
  variant.zero_aborts_per_operation = median_of(figures([&](const TrialResult& t) {
    return ratio_of(t, count_of(t.sync.aborts ? *t.sync.aborts : none, "zero"),
                    t.throughput ? t.throughput->operations : 0);
  }));
}

void mark_outliers(VariantSummary& variant) {
  std::vector<const TrialResult*> trials;
  for (const Replicate& replicate : variant.replicates) trials.push_back(&replicate.trial);
  const auto flags = outliers_of(trials);
  for (std::size_t i = 0; i < flags.size(); ++i) variant.replicates[i].flags = flags[i];
}

void summarize_alone(VariantSummary& variant) {
  std::vector<double> values;
  for (const Replicate& replicate : variant.replicates) {
    if (replicate.counts()) values.push_back(*replicate.per_second);
  }
  if (values.empty()) {
    variant.median = OrReason<double>::missing("no replicate counts");
    variant.quartiles = OrReason<Interval>::missing(variant.median.reason);
  } else {
    variant.median = median(values);
    variant.quartiles = values.size() > 1
                            ? OrReason(Interval{.low = quantile(values, 0.25), .high = quantile(values, 0.75)})
                            : OrReason<Interval>::missing("one replicate has no quartiles");
  }
  variant.response_ns = response_of(variant);
  find_figures(variant);
  mark_outliers(variant);
}

bool any_flagged(const VariantSummary& variant) {
  return std::any_of(variant.replicates.begin(), variant.replicates.end(),
                     [](const auto& r) { return !r.flags.empty(); });
}

/// Compares the variant with the base, over the replicates or blocks for which `use` returns true.
OrReason<Contrast> contrast_of(const Comparison& comparison, const VariantSummary& variant,
                               const std::function<bool(const Replicate&)>& use) {
  const VariantSummary& base = comparison.variants.front();
  if (variant.median && base.median && bool{variant.response_ns} != bool{base.response_ns}) {
    return OrReason<Contrast>::missing("a response time, the speed under --rate, does not compare with a throughput");
  }
  const auto rate = [&](const VariantSummary& of, std::size_t i) {
    const bool used = i < of.replicates.size() && use(of.replicates[i]) && *of.replicates[i].per_second > 0;
    return used ? std::optional(of.replicates[i].speed()) : std::nullopt;
  };
  std::vector<double> base_rates;
  std::vector<double> rates;
  const bool paired = comparison.paired() || &variant == &base;
  for (std::size_t i = 0; i < std::max(base.replicates.size(), variant.replicates.size()); ++i) {
    const auto of_base = rate(base, i);
    const auto own = rate(variant, i);
    if (of_base && (own || !paired)) base_rates.push_back(*of_base);
    if (own && (of_base || !paired)) rates.push_back(*own);
  }
  if (base_rates.empty() || rates.empty()) {
    return OrReason<Contrast>::missing(
        !variant.median ? variant.median.reason
        : paired        ? fmt::format("there is no {} both {} and {} count",
                               comparison.paired_by == "seed" ? "seed with which" : "block in which", base.name,
                                      variant.name)
                        : fmt::format("no replicate of {} counts", rates.empty() ? variant.name : base.name));
  }
  const auto contrast = paired ? paired_contrast : unpaired_contrast;
  return contrast(base_rates, rates, comparison.seed, 10'000, comparison.effect);
}

void find_contrasts(const Comparison& comparison, VariantSummary& variant) {
  variant.contrast = contrast_of(comparison, variant, [](const Replicate& r) { return r.counts(); });
  if (&variant == &comparison.variants.front()) {
    variant.unflagged = OrReason<Contrast>::missing("this is the base");
  } else if (any_flagged(variant) || any_flagged(comparison.variants.front())) {
    variant.unflagged =
        contrast_of(comparison, variant, [](const Replicate& r) { return r.counts() && r.flags.empty(); });
    if (!variant.unflagged) variant.unflagged.reason = "all replicates are flagged";
  } else {
    variant.unflagged = OrReason<Contrast>::missing("no replicate is flagged");
  }
}

/// Returns how many replicates do not count, with the status of the first of them; empty if all count.
std::string bad_replicates(const VariantSummary& variant) {
  u32 bad = 0;
  std::string status;
  for (const Replicate& replicate : variant.replicates) {
    if (!replicate.counts() && bad++ == 0) status = replicate.status;
  }
  return bad == 0 ? ""
                  : fmt::format("{} of {} replicates of {} {}", bad, variant.replicates.size(), variant.name, status);
}

void correct_all(std::vector<Comparison>& comparisons, OrReason<Contrast> VariantSummary::* which) {
  std::vector<Contrast*> family;
  for (Comparison& comparison : comparisons) {
    for (VariantSummary& variant : comparison.variants) {
      if (&variant != &comparison.variants.front() && variant.*which) family.push_back(&*(variant.*which).value);
    }
  }
  correct(family);
}

/// Finds the speed of an open loop. Returns the reason why it has none; empty if it has one.
std::string judge_open_loop(Replicate& replicate) {
  const TrialResult& trial = replicate.trial;
  if (!option_at(replicate.document, "rate").empty()) {
    if (trial.offer && trial.offer->late) {
      return "its threads could not keep up with its --rate: the queue was growing, so its p99 depends on how long "
             "the run was";
    }
    if (trial.latency && trial.latency->response) replicate.response_ns = time_at(*trial.latency->response, 99);
    if (replicate.response_ns == 0.) replicate.response_ns.reset();
    if (!replicate.response_ns)
      return "its throughput is its --rate, so its speed is the p99 of --latency, which is missing";
  } else if (const std::string slo = option_at(replicate.document, "slo"); !slo.empty()) {
    using enum RateSearch::Answer;
    const auto answer = trial.slo ? trial.slo->answer : kUnfinished;
    if (answer == kFound || answer == kAllKeep) return "";
    return answer == kUnfinished ? fmt::format("the search for --slo={} did not finish", slo)
                                 : fmt::format("no rate keeps --slo={}: {}", slo, word(answer));
  }
  return "";
}

/// Fills in the replicate from its document. Throws InputError if the document is not a result.
void read_document(Replicate& replicate) {
  const TrialResult& trial = replicate.trial = result_of(replicate.document).trial;
  replicate.status = word(trial.status);
  replicate.reason = trial.reason;
  if (trial.interrupted) {
    replicate.status = "interrupted";
    replicate.reason = "ended early by a signal";
  } else if (trial.status < Status::kSkipped) {
    if (!trial.throughput) {
      replicate.status = "failed";
      replicate.reason = "the document has no throughput";
    } else if (std::string why = judge_open_loop(replicate); !why.empty()) {
      replicate.status = "unjudged";
      replicate.reason = std::move(why);
    } else {
      replicate.per_second = trial.throughput->per_second;
    }
  }
}

}  // namespace

Replicate replicate_of(Json document, const std::string& why_not) {
  Replicate replicate;
  replicate.status = "failed";
  replicate.reason = why_not;
  if (!document.is_object() || !document.contains("status")) return replicate;
  replicate.document = std::move(document);
  try {
    read_document(replicate);
  } catch (const InputError& error) {
    replicate.document = nullptr;
    replicate.reason = error.what();
  }
  return replicate;
}

std::string why_withheld(const Comparison& comparison, const VariantSummary& variant) {
  const VariantSummary& base = comparison.variants.front();
  if (std::string why = bad_replicates(variant); !why.empty()) return why;
  if (&variant == &base) return "";
  if (std::string why = bad_replicates(base); !why.empty()) return why;
  if (comparison.interrupted) return "interrupted";
  if (!variant.contrast) return variant.contrast.reason;
  const Contrast& c = *variant.contrast;
  if (c.too_few == 0) return "";
  return fmt::format("{} {} too few for the test: run {} more", c.replicates,
                     c.replicates == 1 ? "replicate is" : "replicates are", c.too_few);
}

void summarize(std::vector<Comparison>& comparisons) {
  for (Comparison& comparison : comparisons) {
    for (VariantSummary& variant : comparison.variants) summarize_alone(variant);
    for (VariantSummary& variant : comparison.variants) find_contrasts(comparison, variant);
  }
  correct_all(comparisons, &VariantSummary::contrast);
  correct_all(comparisons, &VariantSummary::unflagged);
  for (Comparison& comparison : comparisons) {
    for (VariantSummary& variant : comparison.variants) {
      variant.withheld = why_withheld(comparison, variant);
      variant.verdict = !variant.withheld.empty()                  ? "withheld"
                        : &variant == &comparison.variants.front() ? "base"
                                                                   : word(verdict_of(*variant.contrast));
    }
  }
}

int exit_status(const Comparison& comparison) {
  if (comparison.interrupted) return 130;
  for (const VariantSummary& variant : comparison.variants) {
    if (!bad_replicates(variant).empty()) return 1;
    for (const Replicate& replicate : variant.replicates) {
      const bool refused = replicate.status == "noisy" || replicate.status == "degraded";
      if (refused && option_at(replicate.document, "strict") == "true") return 1;
    }
  }
  return 0;
}

}  // namespace latchlab
