#!/usr/bin/env bash
# Runs the points of a block on a host that ssh reaches, for engines/hosts.py. It lies beside block.sh and the harness, which were brought
# together. The lines of stdin are those of block.sh's POINTS; its records go to stdout.
#
#   host.sh NAME <POINTS
#
# Exit status: that of block.sh; 75 if another task of a sweep runs on this host and does not end within 20 s.
set -uo pipefail
[ $# = 1 ] || { printf 'host.sh: the usage is host.sh NAME <POINTS\n' >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 2
export LATCHLAB_NODE=$1
# One lock for all names of this machine. Runs inherit it. So a task that lost its connection keeps the host until its run has ended.
exec 9>>"${XDG_RUNTIME_DIR:-/tmp}/latchlab-$UID.lock" || exit 3
flock -w 20 9 || { printf 'another task of a sweep runs there\n' >&2; exit 75; }
points=$(cat)
exec bash "$here/block.sh" "$here/harness" /dev/stdin - <<<"$points"
