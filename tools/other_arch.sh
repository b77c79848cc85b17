#!/usr/bin/env bash
# The numerical tests for the other architecture: on arm64 for amd64, on amd64 for arm64. Compiles them with
# Debian's cross compiler and runs them under qemu's emulation of a user's program.
#
#   tools/other_arch.sh [args]      args go to ctest
#
# The other architecture's libraries are Debian's packages, unpacked under build/other-arch/root: the machine's
# own package database stays as it is, and no root is needed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case $(uname -m) in
  aarch64) architecture=amd64 ;;
  x86_64) architecture=arm64 ;;
  *)
    printf 'other-arch knows arm64 and amd64, not %s\n' "$(uname -m)" >&2
    exit 1
    ;;
esac

# Libraries of the other architecture. apt adds what they depend on.
packages=(
  libhwy-dev libtbb-dev zlib1g-dev nlohmann-json3-dev libeigen3-dev
  libgtest-dev librapidcheck-dev libboost-dev libfmt-dev libcli11-dev libbenchmark-dev
)

# The parts to build and run: those whose results are our own numbers. The rest of the suite starts programs
# (cli, python, web), takes minutes without emulation (regressor, baselines, experiments), or is about files
# rather than machines (bench, install, supply, tables).
parts='special|messages|factors|graph|backend|kernels|metrics|data|base|belief'
tests="^(($parts)/|validation/engines\$)"

programs=(
  special_tests messages_tests factors_tests graph_tests backend_tests kernels_tests metrics_tests data_tests base_tests belief_tests
  allocation_tests validation_tests
)

# Left out, each with its reason.
left_out='^$'

dir=build/other-arch
root=$dir/root
begin=$SECONDS

say() { printf '\n== %s\n' "$*" >&2; }

# A private apt: the machine's sources and keys, the other architecture, nothing installed yet.
private_apt() {
  apt-get -q -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" \
    -o "Dir::State=$PWD/$dir/apt/state" -o "Dir::State::status=$PWD/$dir/apt/dpkg/status" \
    -o "Dir::Cache=$PWD/$dir/apt/cache" -o APT::Sandbox::User= "$@" >&2
}

unpack_root() {
  if [[ $(cat "$root/packages" 2>/dev/null) == "${packages[*]}" ]]; then return; fi
  say "Fetching $architecture packages"
  rm -rf "$root" "$dir/apt"
  mkdir -p "$root" "$dir"/apt/{dpkg,state/lists/partial,cache/archives/partial}
  touch "$dir/apt/dpkg/status"
  private_apt update
  private_apt install --yes --no-install-recommends --download-only "${packages[@]}"
  # The cross compiler has the C library's headers. A second set of them would come before its own.
  rm "$dir"/apt/cache/archives/{libc6-dev,linux-libc-dev}_*.deb
  local archive
  for archive in "$dir"/apt/cache/archives/*.deb; do dpkg -x "$archive" "$root"; done
  # Absolute links have to stay inside this root.
  local link
  while IFS= read -r link; do
    ln -sfn "$(realpath -m --relative-to "$(dirname "$link")" "$root$(readlink "$link")")" "$link"
  done < <(find "$root" -type l -lname '/*')
  rm -r "$dir/apt"
  echo "${packages[*]}" >"$root/packages"
}

unpack_root

say "Configuring for $architecture"
cmake --preset other-arch >&2

chosen=(--test-dir "$dir" --tests-regex "$tests" --exclude-regex "$left_out")
say "Building for $architecture"
cmake --build "$dir" --parallel "$(nproc)" --target "${programs[@]}" >&2
built=$SECONDS

say "Testing $architecture under emulation"
status=0
ctest "${chosen[@]}" --output-on-failure --parallel "$(nproc)" "$@" || status=$?
say "$architecture on $(uname -m): $((built - begin)) s to fetch and build, $((SECONDS - built)) s to run, exit status $status"
exit $status
