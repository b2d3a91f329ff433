# Makes a bare Debian 12 in a folder, which is what a newcomer's machine has. .ci/run sources this file. ./test fails in the bare system if
# it depends on a set-up step that a developer once did by hand, or on a package that merely happened to be installed.

# make_bare FOLDER: makes the bare system, with a copy of this checkout, without its build folder, in FOLDER/project. Returns 1 if it
# cannot; $bare_refusal then has the reason, in one line.
make_bare() {
  local root=$1 mirror log
  log=$root.log
  bare_refusal=""
  if [ "$(id -u)" != 0 ]; then bare_refusal="only root may change its root folder"; return 1; fi
  mirror=$(bookworm_mirror)
  if [ -z "$mirror" ]; then bare_refusal="apt has no source for Debian 12 (bookworm)"; return 1; fi
  if ! unshare --mount --propagation private true 2>/dev/null; then bare_refusal="this process may not mount anything"; return 1; fi
  if ! (ensure_packages yes debootstrap) >/dev/null 2>&1; then bare_refusal="debootstrap cannot be installed"; return 1; fi

  # The mounts of the last call ended with its process, so this deletes nothing outside the folder.
  rm -rf --one-file-system "$root"
  mkdir -p "$(dirname "$root")"
  if ! debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror" >"$log" 2>&1; then
    bare_refusal="debootstrap failed ($(tail -n 1 "$log")); see $log"
    return 1
  fi
  # The bare system gets its packages from the same source as this machine.
  if [ -e /etc/apt/sources.list.d/debian.sources ]; then
    cp /etc/apt/sources.list.d/debian.sources "$root/etc/apt/sources.list.d/"
    : >"$root/etc/apt/sources.list"
  else
    cp /etc/apt/sources.list "$root/etc/apt/"
  fi
  local settings
  for settings in /etc/apt/apt.conf.d/99*; do
    [ ! -e "$settings" ] || cp "$settings" "$root/etc/apt/apt.conf.d/"
  done
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  cp /etc/resolv.conf /etc/hosts "$root/etc/"

  mkdir "$root/project"
  tar --create --exclude=./build . | tar --extract --no-same-owner --directory="$root/project"
}

# in_bare FOLDER COMMAND...: runs COMMAND in the project of a system that make_bare has made. It keeps the environment's variables for
# proxies and certificates, and LATCHLAB_SKIP_NOTHING. Its mounts are in a namespace of their own, and end with the command.
in_bare() {
  local root=$1 kept
  shift
  mapfile -t kept < <(env | grep -iE '^(https?_proxy|no_proxy|pip_[a-z_]+|ssl_cert_[a-z]+|requests_ca_bundle|LATCHLAB_SKIP_NOTHING)=')
  # shellcheck disable=SC2016  # expanded by the inner shells
  unshare --mount --propagation private bash -c '
    for folder in proc sys dev; do mount --rbind "/$folder" "$0/$folder" || exit 1; done
    exec chroot "$0" "$@"' "$root" \
    /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin ${kept[@]+"${kept[@]}"} \
    bash -c 'cd /project && exec "$@"' _ "$@"
}

# bookworm_mirror: prints the address from which this machine's apt gets Debian 12; nothing if there is none.
bookworm_mirror() {
  awk '/^Types:/ { address = "" }
       /^URIs:/ { address = $2 }
       /^Suites:.*bookworm/ && !/security/ { if (address != "") { print address; exit } }' /etc/apt/sources.list.d/*.sources 2>/dev/null |
    grep . ||
    awk '$1 == "deb" && / bookworm / { for (i = 2; i <= NF; ++i) if ($i ~ /:\/\//) { print $i; exit } }' /etc/apt/sources.list 2>/dev/null
}
