# Completion of harness: bash sources this file, and zsh after `autoload -U bashcompinit && bashcompinit`.
# The target help_texts writes it from the harness's own tables. Do not edit it.

_harness() {
  [ -z "${ZSH_VERSION-}" ] || emulate -L ksh
  local replaced=${2-} command=${COMP_WORDS[1]-} IFS=$' \t\n'
  local word value candidate kept="" words=""
  word=${COMP_LINE:0:$COMP_POINT}
  word=${word##*[[:space:]\"\']}
  COMPREPLY=()
  case $word in
    --*=*)
      value=${word#*=}
      case ${word%%=*} in
        --index) words="absl_flat art art_parts bskip btree btree1k btree4k chained chained_line counters cuckoo cuckoo3 cuckoo7 kvdirect libcuckoo memc3 null remote simdht std_map std_unordered tbb tbb_unordered vip" ;;
        --sync) words="adaptive atomic bravo cna combine ffwd gcr hapax hapax-olc hle hybrid latch-hybrid mcs mutex none nr olc optiql own reciprocating rowex rtm rwspin seq shared_mutex spin striped tbb-rw tbb-spec tbb-spec-rw three-path ticket ticket-olc" ;;
        --workload) words="lookup insert mix: ycsb-a ycsb-b ycsb-c ycsb-d ycsb-e ycsb-f wiscer: trace: phases:" ;;
        --keys) words="u64 u32 u16 dense stride: affine clustered: file: email: url: sosd: trace:" ;;
        --dist) words="uniform zipf: hotspot: self-similar: exponential: latest: histogram:" ;;
        --rate) words="fixed: poisson: sine: trace trace:" ;;
        --alloc) words="malloc tcmalloc jemalloc mimalloc tbb arena arena+touch" ;;
        --mem) words="first-touch local interleave interleave:pin bind:" ;;
        --hugepages) words="none thp" ;;
        --reclaim) words="epoch epoch-fence qsbr leak" ;;
        --pin) words="compact scatter cluster: socket: list:" ;;
        --smt) words="avoid pack" ;;
        --pmu) words="software core cache l2 tlb tsx energy off" ;;
        --isa) words="scalar sse4.2 avx2 avx512" ;;
        --threads-per) words="run cluster socket" ;;
        --wait) words="spin yield park" ;;
        --slice-extension) words="on off" ;;
        --churn) words="none drift: flash:" ;;
        --station) words="off stall on auto" ;;
        --far) words="node: file: model:" ;;
        --rule) words="near-first far-first fixed: weighted: leaves" ;;
        --clear-accessed) words="off" ;;
        --rows) words="off" ;;
        --latency) words="off sample: all" ;;
        --validate) words="tally history off" ;;
        --progress) words="auto plain none" ;;
      esac
      # In a list, a word stands behind a brace or a comma.
      case $word in --pmu=* | *=\{*) kept=${value%"${value##*[\{,]}"} ;; esac
      kept=${word%%=*}=$kept
      ;;
    -*)
      case $command in
        compare) words="--effect= --json --mix --seed=" ;;
        limits) words="--threads= --footprint= --pin= --smt= --mem= --hugepages= --json --progress= --write-machine= --like=" ;;
        explain) words="--hot-lines" ;;
        experiment) words="--quick --full --dry-run --redraw --paper --width= --height= --font-size= --out= --machine= --beside= --on= --binary= --emit=" ;;
        export) words="--format= --series --out=" ;;
        doctor) words="--machine=" ;;
        -* | @* | ab) words="--index= --isa= --sync= --threads= --machine= --threads-per= --pin= --smt= --alloc= --mem= --hugepages= --reclaim= --wait= --slice-extension= --workload= --keys= --dist= --churn= --negative= --batch= --station= --value-size= --far= --near= --rule= --records= --warmup= --time= --ops= --clear-accessed= --sample= --rows= --rate= --slo= --latency= --pmu= --seed= --history= --validate= --preempt --reps= --topology= --dry-run --out= --json --profile= --progress= --strict --fit" ;;
      esac
      case $command in ab) words+=" --a= --b= --c= --replicates=" ;; esac
      [ "$COMP_CWORD" != 1 ] || words+=" --help --version"
      ;;
    @*) ;;
    *)
      case $COMP_CWORD:$command in
        1:*) words="ab compare limits explain hdr rows check trace experiment export list doctor help" ;;
        2:list) words="indexes policies workloads keys distributions traces arrivals allocators memory hugepages reclaimers placements hardware-threads pmu" ;;
        2:help) words="ab compare limits explain hdr rows check trace experiment export list doctor help indexes policies workloads keys distributions traces arrivals allocators memory hugepages reclaimers placements hardware-threads pmu" ;;
        2:trace) words="convert info" ;;
        3:trace) words="twitter meta-kv" ;;
      esac
      ;;
  esac
  for candidate in $words; do
    candidate=$kept$candidate
    case $candidate in "$word"*) ;; *) continue ;; esac
    case $word in
      *"$replaced") candidate=${candidate#"${word%"$replaced"}"} ;;
      *) candidate=${replaced%"$word"}$candidate ;;
    esac
    COMPREPLY+=("$candidate")
  done
  # No blank follows a word or a list that goes on. Zsh has no compopt.
  case "${#COMPREPLY[@]}:$kept ${COMPREPLY[0]-}" in 1:*[=:] | 1:*[\{,]" "*) compopt -o nospace 2>/dev/null || : ;; esac
}

if [ -n "${ZSH_VERSION-}" ]; then
  complete -o nospace -o default -F _harness harness
else
  complete -o default -F _harness harness
fi
