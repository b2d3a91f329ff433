// PageRank with one operation of an index an edge: add a part of the rank of one vertex to that of another.
//
//     pagerank [SCALE [THREADS [ROUNDS]]]
//
// The graph is random (R-MAT), of 2^SCALE vertices and 16 times as many edges; a few vertices have very many. An index
// maps each vertex to its rank. Threads share the edges, and each edge is one atomic change of the rank at its head:
//
//     alone      one modify
//     batch      64 by one modify_batch: their cache misses overlap
//     station    64 meet in a reservation station first, so that a batch changes each vertex once
//
// It prints the edges a second of each way under each policy: the median of the rounds, which take turns, with the
// least and the most. The ranks must be those that one thread computes without an index.
#include <algorithm>
#include <array>
#include <barrier>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "indexes/cuckoo/cuckoo.h"
#include "src/machine/native.h"
#include "sync/olc.h"
#include "sync/rtm.h"
#include "sync/spin.h"
#include "sync/station.h"
#include "sync/striped.h"
#include "sync/synchronized.h"

namespace {

using latchlab::Found;

constexpr int kIterations = 3;
constexpr double kDamping = .85;
constexpr std::size_t kBatch = 64;

struct Edge {
  std::uint32_t from, to;
};

struct Graph {
  std::size_t vertices;
  std::vector<Edge> edges;
  std::vector<std::uint32_t> degree;  // edges that leave each vertex
};

/// Chakrabarti, Zhan and Faloutsos, R-MAT (SDM 2004), with the probabilities of Graph500.
Graph random_graph(unsigned scale) {
  Graph graph{.vertices = std::size_t{1} << scale, .edges = {}, .degree = std::vector<std::uint32_t>(1ull << scale)};
  graph.edges.resize(16 * graph.vertices);
  std::mt19937_64 random(7);
  std::discrete_distribution<unsigned> quarter({.57, .19, .19, .05});
  for (Edge& edge : graph.edges) {
    edge = {};
    for (unsigned bit = 0; bit < scale; ++bit) {
      const unsigned which = quarter(random);
      edge.from = 2 * edge.from + which / 2;
      edge.to = 2 * edge.to + which % 2;
    }
    ++graph.degree[edge.from];
  }
  return graph;
}

/// Returns the ranks that one thread computes in an array.
std::vector<double> ranks_of(const Graph& graph) {
  const double base = (1 - kDamping) / static_cast<double>(graph.vertices);
  std::vector<double> rank(graph.vertices, 1 / static_cast<double>(graph.vertices));
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    std::vector<double> next(graph.vertices, base);
    for (const Edge& edge : graph.edges) next[edge.to] += kDamping * rank[edge.from] / graph.degree[edge.from];
    rank = next;
  }
  return rank;
}

Found plus(const Found& before, double part) noexcept {
  return before ? Found(std::bit_cast<std::uint64_t>(std::bit_cast<double>(*before) + part)) : before;
}

enum class Way { kAlone, kBatched, kStationed };

/// Up to kBatch edges, as the operations of a station (sync/station.h).
struct Edges {
  std::uint64_t key(std::size_t i) const { return keys[i]; }
  bool changes(std::size_t) const { return true; }
  Found next(std::size_t i, const Found& before) const noexcept { return plus(before, parts[i]); }
  void answer(std::size_t, const Found&) noexcept {}

  std::array<std::uint64_t, kBatch> keys;
  std::array<double, kBatch> parts;
};

/// Ranks the vertices by an index under the policy. Returns the seconds that the edges took; exits if a rank is wrong.
template <template <class...> class Policy>
double seconds(const Graph& graph, const std::vector<double>& expected, unsigned threads, Way way) {
  using Index = latchlab::Synchronized<latchlab::Cuckoo, Policy<latchlab::Native>, latchlab::U64Key>;
  Index index(latchlab::Spec::parse(Policy<latchlab::Native>::kName), {});
  const double count = static_cast<double>(graph.vertices);
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  {
    auto me = index.join();
    for (std::uint64_t vertex = 0; vertex < graph.vertices; ++vertex) index.insert(me, vertex, bits(1 / count));
  }
  std::vector<double> part(graph.vertices);  // that each edge of a vertex gives to its head
  std::vector<double> spent(threads);
  std::barrier<> meet(threads);
  const auto rank = [&](unsigned id) {
    auto me = index.join();
    latchlab::Station<Index> station({.mode = latchlab::StationMode::kOn});
    const auto share = [&](std::size_t all) { return std::pair(all * id / threads, all * (id + 1) / threads); };
    const auto [first_vertex, last_vertex] = share(graph.vertices);
    const auto [first_edge, last_edge] = share(graph.edges.size());
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      for (std::uint64_t vertex = first_vertex; vertex < last_vertex; ++vertex) {
        part[vertex] = kDamping * std::bit_cast<double>(*index.find(me, vertex)) / std::max(graph.degree[vertex], 1u);
        index.update(me, vertex, bits((1 - kDamping) / count));
      }
      meet.arrive_and_wait();
      const auto begin = std::chrono::steady_clock::now();
      Edges edges;
      for (std::size_t first = first_edge; first < last_edge; first += kBatch) {
        const std::size_t now = std::min(kBatch, last_edge - first);
        for (std::size_t i = 0; i < now; ++i) {
          edges.keys[i] = graph.edges[first + i].to;
          edges.parts[i] = part[graph.edges[first + i].from];
        }
        switch (way) {
          case Way::kAlone:
            for (std::size_t i = 0; i < now; ++i)
              index.modify(me, edges.keys[i], [&](const Found& before) noexcept { return edges.next(i, before); });
            break;
          case Way::kBatched: {
            std::array<latchlab::Modified, kBatch> modified;
            index.modify_batch(me, std::span<const std::uint64_t>(edges.keys).first(now),
                               std::span(modified).first(now),
                               [&](std::size_t i, const Found& before) noexcept { return edges.next(i, before); });
            break;
          }
          case Way::kStationed: station.run(index, me, now, edges, latchlab::BatchOrder::kSideBySide); break;
        }
      }
      spent[id] += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      meet.arrive_and_wait();
    }
  };
  std::vector<std::thread> others;
  for (unsigned id = 1; id < threads; ++id) others.emplace_back(rank, id);
  rank(0);
  for (std::thread& other : others) other.join();

  auto me = index.join();
  for (std::uint64_t vertex = 0; vertex < graph.vertices; ++vertex) {
    const double got = std::bit_cast<double>(*index.find(me, vertex));
    if (std::abs(got - expected[vertex]) > 1e-9 * expected[vertex]) {  // sums of another order differ in the last bits
      std::printf("vertex %llu has the rank %g, and should have %g\n", static_cast<unsigned long long>(vertex), got,
                  expected[vertex]);
      std::exit(1);
    }
  }
  return *std::ranges::max_element(spent);
}

}  // namespace

int main(int count, char** words) {
  const auto number = [&](int at, unsigned otherwise) {
    return count > at ? static_cast<unsigned>(std::strtoul(words[at], nullptr, 10)) : otherwise;
  };
  const unsigned scale = number(1, 10), threads = number(2, 2), rounds = number(3, 3);
  if (count > 4 || scale < 1 || scale > 26 || threads < 1 || threads > 1024 || rounds < 1) {
    std::fprintf(stderr, "pagerank: write pagerank [SCALE [THREADS [ROUNDS]]], with a scale from 1 to 26\n");
    return 2;
  }
  const Graph graph = random_graph(scale);
  const std::vector<double> expected = ranks_of(graph);

  struct Row {
    const char* policy;
    double (*run)(const Graph&, const std::vector<double>&, unsigned, Way);
  };
  const std::array rows = {Row{"olc", seconds<latchlab::Olc>}, Row{"spin", seconds<latchlab::Spin>},
                           Row{"rtm", seconds<latchlab::Rtm>}, Row{"striped", seconds<latchlab::Striped>}};
  const std::array ways = {std::pair("alone", Way::kAlone), std::pair("batch", Way::kBatched),
                           std::pair("station", Way::kStationed)};
  std::vector<std::vector<double>> rates(rows.size() * ways.size());
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::size_t run = 0; run < rates.size(); ++run) {
      const double took = rows[run / ways.size()].run(graph, expected, threads, ways[run % ways.size()].second);
      rates[run].push_back(kIterations * static_cast<double>(graph.edges.size()) / took / 1e6);
    }
  }
  std::printf("%zu vertices, %zu edges, %u threads; million edges a second\n", graph.vertices, graph.edges.size(),
              threads);
  for (std::size_t run = 0; run < rates.size(); ++run) {
    std::vector<double>& of = rates[run];
    std::ranges::sort(of);
    std::printf("%-8s %-8s %7.2f (%.2f to %.2f)\n", rows[run / ways.size()].policy, ways[run % ways.size()].first,
                of[of.size() / 2], of.front(), of.back());
  }
  return 0;
}
