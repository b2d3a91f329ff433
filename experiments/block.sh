#!/usr/bin/env bash
# Runs the points of one block, one after the other, each in a process of its own. It is all that a sweep starts on a machine, so it
# needs bash, coreutils and a harness, and neither Python nor anything installed.
#
#   block.sh HARNESS POINTS RECORDS
#
# A line of POINTS is the number of a point and the words of its command, as the shell quotes them. RECORDS gets JSON lines: one when
# a point begins, and one with its outcome:
#     {"begins": 3, "node": "n1", "at": 1764200000.5}
#     {"point": 3, "node": "n1", "began": 1764200000.5, "ended": 1764200001.5, "exit": 0, "said": "", "document": {...}}
# "said" is the last line of stderr; "document" is null if the point printed anything but one line of JSON. While points run, the file is
# RECORDS.part; a rename at the end tells that all of them ran. Each call has files of its own, so no two machines write to one.
#
# With - for RECORDS they go to stdout instead, and nothing is renamed. It stops if POINTS is removed, which tells that another call runs
# what is left of the block.
#
# Exit status: 0 if every point ran, whatever came of it; 2 for a wrong call; 3 if RECORDS cannot be written; 130 if a point was
# interrupted.
set -uo pipefail
[ $# = 3 ] || { printf 'block.sh: the usage is block.sh HARNESS POINTS RECORDS\n' >&2; exit 2; }
harness=$1 points=$2 records=$3
node=${LATCHLAB_NODE:-${SLURMD_NODENAME:-$(uname -n)}}

# now: prints the time in seconds since 1970. Some locales write a comma, which JSON does not allow.
now() {
  local at=${EPOCHREALTIME:-$(date +%s.%N)}
  printf '%s' "${at/,/.}"
}

# keep FORMAT VALUES...: writes a record.
keep() {
  # shellcheck disable=SC2059  # callers give the format
  printf "$@" >&3 || { printf 'block.sh: the records cannot be written: %s\n' "$records" >&2; exit 3; }
}

# killed_for_memory: prints how many processes of our cgroup the kernel has killed for want of memory; nothing where it does not tell.
killed_for_memory() {
  local number controllers path
  while IFS=: read -r number controllers path; do
    case $number:$controllers in
      0:) grep '^oom_kill ' "/sys/fs/cgroup$path/memory.events" ;;
      *:memory) grep '^oom_kill ' "/sys/fs/cgroup/memory$path/memory.oom_control" ;;
    esac
  done </proc/self/cgroup 2>/dev/null
}

# The kernel ends the run when this script ends, for whatever reason, so that no run goes on alone.
with_us=()
if setpriv --pdeathsig KILL true 2>/dev/null; then with_us=(setpriv --pdeathsig KILL); fi

# A task runs once. A second call would overwrite what the first one measured.
[ ! -e "$records" ] || { printf 'block.sh: %s is there already\n' "$records" >&2; exit 2; }
if [ "$records" = - ]; then
  exec 3>&1
  stderr=$(mktemp) || exit 3
  trap 'rm -f "$stderr"' EXIT
else
  set -o noclobber
  exec 3>"$records.part" || exit 3
  set +o noclobber
  stderr=$records.stderr
fi
while read -r number words <&4; do
  [ -e "$points" ] || { printf 'block.sh: %s was removed\n' "$points" >&2; exit 2; }
  eval "set -- $words"
  began=$(now)
  kills=$(killed_for_memory)
  keep '{"begins": %d, "node": "%s", "at": %s}\n' "$number" "$node" "$began"
  document=$(exec "${with_us[@]}" "$harness" "$@" 2>"$stderr" </dev/null 3>&- 4>&-)
  status=$?
  said=$(tail -n 1 "$stderr" | tr -d '\000-\037')
  if [ "$status" = 137 ]; then
    said="killed by SIGKILL, perhaps out of memory"
    [ "$(killed_for_memory)" = "$kills" ] || said="out of memory: the kernel killed the run"
  fi
  said=${said//\\/\\\\} said=${said//\"/\\\"}
  case $document in *$'\n'*) document=null said="several runs" ;; '{'*'}') ;; *) document=null ;; esac
  keep '{"point": %d, "node": "%s", "began": %s, "ended": %s, "exit": %d, "said": "%s", "document": %s}\n' \
    "$number" "$node" "$began" "$(now)" "$status" "$said" "$document"
  [ "$status" != 130 ] || exit 130
done 4<"$points"
[ "$records" != - ] || exit 0
rm -f "$stderr"
exec 3>&-
mv "$records.part" "$records" || exit 3
