#!/usr/bin/env bash
# tools/clean_root.sh PLACE COMMAND...: makes a new Debian in the folder PLACE (takes root and debootstrap), clones
# this checkout's commit into it, runs the command in the clone and prints how long it took. The root is removed
# afterwards. Example: tools/clean_root.sh build/clean-root ./dev demo
#
# When sourced, it only defines the functions.
set -euo pipefail

# new_root PLACE: a new Debian there, with this machine's sources of packages, and nothing that is not essential.
new_root() {
  local place=$1 name
  remove_root "$place"
  mkdir -p "$place" "$place.cache"
  # shellcheck disable=SC1091
  . /etc/os-release
  debootstrap --variant=minbase --cache-dir="$(cd "$place.cache" && pwd -P)" "$VERSION_CODENAME" "$place" \
    >"$place.log" 2>&1 || {
    tail "$place.log" >&2
    return 1
  }
  rm -f "$place/etc/apt/sources.list"
  mount -t proc proc "$place/proc"
  cp /etc/resolv.conf "$place/etc/resolv.conf"
  for name in sources.list sources.list.d apt.conf.d trusted.gpg.d; do
    if [[ -e /etc/apt/$name ]]; then cp -r "/etc/apt/$name" "$place/etc/apt/"; fi
  done
  if [[ -d /usr/local/share/ca-certificates ]]; then cp -r /usr/local/share/ca-certificates "$place/usr/local/share/"; fi
  mkdir "$place/trial"
}

remove_root() {
  umount "$1/proc" 2>/dev/null || true
  rm -rf --one-file-system "$1"
}

# inside PLACE COMMAND...
inside() {
  local place=$1
  shift
  chroot "$place" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/trial DEBIAN_FRONTEND=noninteractive "$@"
}

# install_inside PLACE PACKAGE...: names may be patterns of files in the root.
install_inside() {
  local place=$1
  shift
  inside "$place" sh -c "apt-get install -qq --no-install-recommends -o Dpkg::Use-Pty=0 $*" >/dev/null 2>"$place.log" || {
    tail "$place.log" >&2
    return 1
  }
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  if (($# < 2)); then
    printf 'usage: tools/clean_root.sh PLACE COMMAND...\n' >&2
    exit 2
  fi
  place=$1
  shift
  new_root "$place"
  trap 'remove_root "$place"' EXIT
  git clone -q "$(dirname "${BASH_SOURCE[0]}")/.." "$place/trial/dma"
  # npm uses the same registry there as here.
  if [[ -f ~/.npmrc ]]; then cp ~/.npmrc "$place/trial/"; fi
  begin=$SECONDS
  status=0
  inside "$place" sh -c "cd /trial/dma && $*" || status=$?
  printf '\n-- %s: exit status %d after %d s in a clean root\n' "$*" "$status" $((SECONDS - begin))
  exit $status
fi
