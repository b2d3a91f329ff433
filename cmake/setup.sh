# Finds the packages that a Debian machine lacks, names them, and installs them. ./bench and ./test source this file. No other file names
# packages.

# Packages of `./bench`: a compiler, the libraries, a list of words to use as real keys, and the allocators that --alloc preloads.
bench_packages="g++ cmake ninja-build libfmt-dev nlohmann-json3-dev libhwloc-dev libnuma-dev libpfm4-dev
  libtbb-dev libabsl-dev libcuckoo-dev libtomlplusplus-dev libboost-context-dev zlib1g-dev libzstd-dev wamerican libtcmalloc-minimal4 libjemalloc2 libmimalloc2.0 libtbbmalloc2"

# Packages that `./test` adds: the test framework, the checker of JSON schemas, git for scratch repositories, objdump for the test of
# generated code, pkg-config for the installed package, an emulated machine with four NUMA nodes, liburing for the server,
# libmemkind for far memory in files, RocksDB with its db_bench for the tier, pbzip2 as a program whose locks are elided, and numpy for what
# is derived.
test_packages="catch2 python3 python3-jsonschema python3-numpy git binutils pkgconf qemu-system-x86 busybox-static cpio liburing-dev
  libmemkind-dev librocksdb-dev rocksdb-tools pbzip2"
# Packages that `./test --all` adds: Go, unless there is another one, for a second checker of histories; Slurm, for a cluster on this
# machine; GNU parallel, for two hosts on this machine; and what the key-value server is tested by. An ssh server, which some of these
# tests need, is not installed, since it would listen.
kv_test_packages="redis-tools libmemcached-tools libevent-2.1-7 netcat-openbsd perl tcl"
all_test_packages="golang-go slurm-wlm munge parallel openssh-client $kv_test_packages"
# Packages that `.ci/run` adds: a second compiler with libFuzzer, the tools that check the style, and UCX, whose tests have a build of
# their own.
ci_packages="clang-19 libclang-rt-19-dev clang-format-19 clang-tidy-19 doxygen libucx-dev"
kernel_package=linux-image-cloud-amd64   # the kernel that the emulated machine boots
# Packages with memcached, redis and their tests, which are unpacked and not installed, since they would listen. What they link to is
# among the packages above.
original_packages="memcached redis-server redis-tools"
original_sources="memcached redis"

# `./bench experiment` adds virtual environments of Debian's Python, and modules of PyPI that draw figures.
experiment_packages="python3-venv"
experiment_modules="altair>=5.5,<7 vl-convert-python>=1.7,<2"

# `./bench model` adds modules of PyPI that compute. Its tests have Debian's.
model_modules="numpy>=1.24,<3"

# `./bench export` adds Python and, for --format=parquet, a module of PyPI that writes Parquet.
export_packages="python3"
parquet_modules="pyarrow>=15,<27"

# `./bench --profile=FILE` adds perf, and addr2line for the names of inlined functions.
profile_packages="linux-perf binutils"

# `./bench sweep --on=slurm` adds a module of PyPI that submits job arrays. Slurm itself is the site's.
slurm_modules="submitit>=1.5,<1.6"

# `./bench serve --events=io_uring` adds liburing. A server that was built without it refuses that word.
uring_packages="liburing-dev"

# `./bench --far=file:FOLDER` adds libmemkind. A harness that was built without it refuses that word.
memkind_packages="libmemkind-dev"

# `./bench tier` adds RocksDB, and its db_bench.
tier_packages="librocksdb-dev rocksdb-tools"

# `--on=hosts:FILE` of a sweep adds GNU parallel, and ssh.
hosts_packages="parallel openssh-client"

# `experiments/budget` adds valgrind, whose callgrind counts instructions, and Python.
budget_packages="valgrind python3"

# The module with which the notebook in docs/notebooks reads an export.
notebook_modules="pandas>=2,<4"

# Clients of memcached and of redis, with which the server is tested.
server_modules="pymemcache>=4,<5 pylibmc>=1.6,<1.7 redis>=5,<9"

# say TEXT: prints a line for the user on stderr, so that stdout has only the output of a command.
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# missing_of PACKAGE...: prints the packages that are not installed.
missing_of() {
  local have package
  # dpkg-query exits with 1 if it does not know a name, which is a valid answer here.
  have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null) || :
  for package; do
    case $'\n'"$have"$'\n' in *$'\n'"installed $package"$'\n'*) ;; *) printf '%s ' "$package" ;; esac
  done
}

# run_apt ARGS...: runs apt-get. It prints nothing on success; on failure the output of apt-get, then one line.
run_apt() {
  local said
  if ! said=$("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 "$@" 2>&1 </dev/null); then
    printf '%s\n' "$said" >&2
    say "apt-get $1 failed ($(printf '%s\n' "$said" | grep '^E:' | head -n 1)); install by hand: $by_hand"
    exit 2
  fi
}

# take_install ARGS...: takes --yes and --no-install out of ARGS. It sets $install to ask, yes or no, and the array $arguments to the
# rest.
take_install() {
  local argument
  install=ask
  arguments=()
  for argument; do
    case $argument in
      --yes) install=yes ;;
      --no-install) install=no ;;
      *) arguments+=("$argument") ;;
    esac
  done
}

# run_experiment SCRIPT ARGS...: installs what experiments/SCRIPT and its figure need, and becomes it, on the ./bench of this clone. --help
# installs nothing.
run_experiment() {
  local here script=$1 python=/usr/bin/python3   # without the modules that draw
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd) || exit 2
  take_install "${@:2}"
  if [[ " ${arguments[*]-} " != *" --help "* ]]; then
    # shellcheck disable=SC2086  # lists of words
    ensure_packages "$install" $bench_packages $experiment_packages
    (cd "$here" && ensure_drawing "$install")
    if [ -x "$here/build/python/bin/python" ]; then python=$here/build/python/bin/python; fi
  fi
  exec "$python" -B "$here/experiments/$script" "$here/bench" ${arguments[@]+"${arguments[@]}"}
}

# purpose_of PACKAGE...: prints the packages by purpose, one line for each.
purpose_of() {
  local left=" $* " purpose package these
  for purpose in "to build and run the harness:$bench_packages" "to run scripts:$export_packages" \
    "to serve by io_uring:$uring_packages" "to run RocksDB with the tier:$tier_packages" "to test it:$test_packages" \
    "to sweep over hosts:$hosts_packages" "to run all tests:$all_test_packages" \
    "to draw figures:$experiment_packages" "to profile:$profile_packages" "to count instructions:$budget_packages" "besides:$*"; do
    these=""
    for package in ${purpose#*:}; do
      case $left in *" $package "*) these+=" $package" left=${left/" $package "/ } ;; esac
    done
    [ -z "$these" ] || printf '  %s:%s\n' "${purpose%%:*}" "$these"
  done
}

# agreed: asks the user once whether to install. Enter means yes. Without a terminal it succeeds and does not ask.
agreed() {
  local answer
  [ -t 0 ] && [ -t 2 ] || return 0
  printf 'Install them with apt-get? [Y/n] ' >&2
  read -r answer || { printf '\n' >&2; return 1; }
  case $answer in '' | [yY] | [yY][eE][sS]) return 0 ;; *) return 1 ;; esac
}

# ensure_packages INSTALL PACKAGE...: returns when every package is installed. INSTALL is `ask`, `yes` or `no`. It prints the command to
# run and exits with 2 for `no`, for the answer no, and if it has neither root nor sudo.
ensure_packages() {
  local install=$1 missing by_hand as_root
  shift
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: cannot tell whether the equivalents of these are installed: $*"
    return
  fi
  missing=$(missing_of "$@")
  missing=${missing% }
  [ -n "$missing" ] || return 0

  by_hand="sudo apt-get update && sudo apt-get install -y --no-install-recommends $missing"
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    if [ "$install" != no ] && ! command -v sudo >/dev/null; then
      say "packages are missing, and there is neither root nor sudo here; as root run: ${by_hand//sudo /}"
      exit 2
    fi
    as_root=(sudo)
  fi
  say "missing packages:"
  # shellcheck disable=SC2086  # a list of words
  purpose_of $missing >&2
  if [ "$install" = ask ] && ! agreed; then install=no; fi
  if [ "$install" = no ]; then
    printf '%s\n' "$by_hand"
    say "run the line above to install them"
    exit 2
  fi
  say "installing them"
  run_apt update
  # shellcheck disable=SC2086  # a list of words
  run_apt install -y --no-install-recommends $missing
}

# ensure_modules INSTALL USE MODULE...: returns 0 when build/python has the modules for a use; otherwise prints why not and returns 1.
ensure_modules() {
  local install=$1 use=$2
  shift 2
  if [ "$(cat "build/python/$use" 2>/dev/null)" = "$*" ]; then return 0; fi
  if [ "$install" = no ]; then
    say "$use needs build/python with $* from PyPI, which --no-install leaves alone"
    return 1
  fi
  say "installing from PyPI into build/python: $*"
  mkdir -p build
  if ! { [ -x build/python/bin/pip ] || { rm -rf build/python && /usr/bin/python3 -m venv build/python; }; } >build/python.log 2>&1 ||
    ! build/python/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20 "$@" >>build/python.log 2>&1; then
    say "the installation failed, so there is no $use: $(grep -i error build/python.log | tail -n 1)"
    return 1
  fi
  printf '%s' "$*" >"build/python/$use"
}

# ensure_drawing INSTALL: installs the modules that draw figures, or prints why it cannot. It returns 0 either way, since results do not
# depend on figures.
ensure_drawing() {
  # shellcheck disable=SC2086  # a list of words
  ensure_modules "$1" drawing $experiment_modules || :
}

# fetch ARGS...: runs apt-get, whose servers may be slow or away.
fetch() {
  LC_ALL=C timeout 300 apt-get -o Acquire::Retries=1 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 "$@"
}

# fetch_kernel: puts the file vmlinuz into this folder. After a failure, its last line is the reason.
fetch_kernel() {
  local package
    # LC_ALL=C makes the output English in any locale; sed searches for "Depends:".
  package=$(LC_ALL=C apt-cache depends --important "$kernel_package" | sed -n 's/^ *Depends: //p' | head -n 1)
  if [ -z "$package" ]; then
    echo "apt-cache names no package that $kernel_package depends on"
    return 1
  fi
  fetch download "$package" && dpkg-deb --fsys-tarfile ./*.deb | tar -x --wildcards './boot/vmlinuz-*' && rm ./*.deb &&
    mv boot/vmlinuz-* vmlinuz
}

# fetch_originals: unpacks $original_packages into this folder. After a failure, its last line is the reason.
fetch_originals() {
  local package
  # shellcheck disable=SC2086  # a list of words
  fetch download $original_packages || return
  for package in ./*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x || return; done
  rm ./*.deb
}

# fetch_original_sources: unpacks the sources of $original_sources into folders of this folder, each of one package. apt gets a list of
# sources of its own. After a failure, its last line is the reason.
fetch_original_sources() {
  local apt package
  apt=$PWD/apt
  mkdir -p "$apt/lists/partial" "$apt/archives/partial"
  apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' >"$apt/list"
  local own=(-o "Dir::Etc::sourcelist=$apt/list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$apt/lists"
    -o "Dir::Cache=$apt" -o APT::Sandbox::User=root)
  # shellcheck disable=SC2086  # a list of words
  fetch "${own[@]}" update && fetch "${own[@]}" source --download-only $original_sources || return
  for package in $original_sources; do
    mkdir "$package" && tar -x --strip-components=1 -C "$package" -f "$package"_*.orig.tar.?z || return
  done
  rm -r "$apt" ./*_*
}

# update_lists: updates apt's lists of packages, if that needs no password.
update_lists() {
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo -n)
  LC_ALL=C timeout 300 "${as_root[@]}" apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=1 -o Acquire::http::Timeout=30 update
}

# into_folder FOLDER FETCH: makes build/FOLDER by FETCH, which runs inside, completely or not at all.
into_folder() {
  rm -rf "build/$1.new"
  mkdir -p "build/$1.new" && (cd "build/$1.new" && "$2") && mv "build/$1.new" "build/$1"
}

# ensure_folder INSTALL FOLDER FETCH WHAT WITHOUT: makes build/FOLDER if it is not there. If it cannot, it prints why, and WITHOUT, what
# that means. WHAT is in the folder. Old lists may name packages that the archive no longer has, so they are updated after a failure.
ensure_folder() {
  local install=$1 folder=$2 fetch=$3 what=$4 without=$5 folder_lock
  if [ -e "build/$folder" ]; then return 0; fi
  if [ "$install" = no ]; then
    say "there is no build/$folder with $what, which --no-install leaves alone, so $without"
    return
  fi
  mkdir -p build
  exec {folder_lock}>"build/$folder.lock"
  flock "$folder_lock"   # a call that had to wait finds the folder there
  if [ ! -e "build/$folder" ]; then
    say "unpacking $what into build/$folder"
    if ! { into_folder "$folder" "$fetch" || { update_lists && into_folder "$folder" "$fetch"; }; } >"build/$folder.log" 2>&1; then
      say "$what could not be unpacked, so $without: $(tail -n 1 "build/$folder.log")"
    fi
  fi
  exec {folder_lock}>&-
}

# ensure_kernel INSTALL: makes build/linux/vmlinuz, or prints why it cannot. The package is unpacked and not installed, since installing
# would change the boot loader. $kernel_package is empty and depends on the newest kernel, which is the package to fetch.
ensure_kernel() { ensure_folder "$1" linux fetch_kernel "a kernel" "no machine is emulated"; }

# ensure_originals INSTALL: makes build/originals with the programs memcached and redis-server, or prints why it cannot.
ensure_originals() {
  ensure_folder "$1" originals fetch_originals "memcached and redis" "the server is tested beside those that are installed"
}
# ensure_original_sources INSTALL: makes build/sources with their sources, or prints why it cannot.
ensure_original_sources() {
  ensure_folder "$1" sources fetch_original_sources "the sources of memcached and redis" "their own tests do not run"
}

# build_preset PRESET TARGET...: builds the targets, and prints how long that took if anything was built.
build_preset() {
  build_times=""
  build_part "build/$1" "" 0 "$@"
  say_build_times
}

# build_part NAME NOTE STEP PRESET TARGET...: builds the targets, one build at a time per tree. It prints one line before it builds
# anything, and the whole log on failure. NAME and NOTE are the words of that line. STEP is the processor time of a step in seconds, for
# the estimate; 0 for no estimate. It adds the time that it took to $build_times.
build_part() {
  local name=$1 note=$2 step=$3 preset=$4 log started=$SECONDS status=0
  shift 4
  mkdir -p "build/$preset"
  log=build/$preset/build.log
  exec {build_lock}>"build/$preset/.lock"
  flock "$build_lock"
  if [ ! -f "build/$preset/build.ninja" ]; then
    say "configuring build/$preset"
    cmake --preset "$preset" >"$log" 2>&1 || status=$?
    build_times+="configure $((SECONDS - started)) s, "
  fi
  started=$SECONDS
  if [ "$status" = 0 ]; then
    cmake --build "build/$preset" --target "$@" 2>&1 | tee "$log" | announce "$name" "$note" "$step" || status=$?
  fi
  if [ "$status" != 0 ]; then
    cat "$log" >&2
    say "the build of preset $preset failed: see above, or $PWD/$log"
    exit 1
  fi
  if grep -q '^\[[0-9]*/[0-9]*\] [BL]' "$log"; then build_times+="$name $((SECONDS - started)) s, "; fi
  exec {build_lock}>&-
}

# say_build_times: prints where the time of this build went, if anything was built.
say_build_times() { [ -z "$build_times" ] || say "built: ${build_times%, }"; }

# announce NAME NOTE STEP: reads ninja's output and prints once what is built, with the number of steps. On a terminal it shows a counter.
announce() {
  local line said=no tty=no estimate=""
  [ -t 2 ] && tty=yes
  while IFS= read -r line; do
    case $line in
      \[*/*\]\ [BL]*)
        line=${line%%]*}
        line=${line#[}
        if [ "$said" = no ]; then
          said=yes
          if [ "$3" != 0 ]; then estimate=", $(duration $((${line#*/} * $3 / $(nproc))))"; fi
          say "building $1, ${line#*/} steps$estimate$2"
        fi
        if [ "$tty" = yes ]; then printf '\r%s ' "$line" >&2; fi
        ;;
    esac
  done
  if [ "$tty" = yes ] && [ "$said" = yes ]; then printf '\r%20s\r' '' >&2; fi
}

# duration SECONDS: prints the time in words, rounded up.
duration() {
  if [ "$1" -le 90 ]; then printf 'about %d s' $((($1 + 9) / 10 * 10)); else printf 'about %d minutes' $((($1 + 59) / 60)); fi
}
