#!/usr/bin/env bash
# tools/fuzz.sh BUILD SECONDS [TARGET...]: runs the fuzz targets of a build (all, or those named) for SECONDS each,
# from fuzz/corpus and from what earlier runs added in BUILD/corpus. The first finding ends it; the input is kept in
# BUILD/findings. ./dev fuzz calls it.
# DMA_FUZZ_SEED=N: only from fuzz/corpus, with the same inputs every time, as far as the time allows.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
if (($# < 2)) || ! [[ $2 =~ ^[1-9][0-9]*$ ]]; then
  printf 'usage: tools/fuzz.sh BUILD SECONDS [TARGET...]\n' >&2
  exit 2
fi
build=$(cd "$1" && pwd -P)
seconds=$2
shift 2
targets=("$@")
if ((${#targets[@]} == 0)); then targets=(arguments csv graph model splits); fi

# The longest input of a target: a little longer than its longest seed.
declare -A longest=([arguments]=512 [csv]=4096 [graph]=4096 [model]=16384 [splits]=1024)

scratch=$(mktemp -d)
declare -A running=()  # process -> target
stop() {
  if ((${#running[@]} > 0)); then kill "${!running[@]}" 2>/dev/null || true; fi
  wait
  rm -rf "$scratch"
}
trap stop EXIT

cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
mkdir -p "$build/findings"

start() {
  local target=$1
  [[ -n ${longest[$target]:-} && -x $build/fuzz/fuzz_$target ]] || {
    printf 'fuzz: there is no target %s in %s\n' "$target" "$build" >&2
    exit 2
  }
  local grown="$build/corpus/$target"
  if [[ -n ${DMA_FUZZ_SEED:-} ]]; then grown="$scratch/$target"; fi
  mkdir -p "$grown"
  # libFuzzer leaves files in its working folder. Looking for leaks at every step would take most of the time, and the
  # sanitized tests do it.
  (cd "$scratch" && export UBSAN_OPTIONS=print_stacktrace=1 &&
    export ASAN_OPTIONS=detect_leaks=0:malloc_context_size=3:quarantine_size_mb=16 &&
    exec "$build/fuzz/fuzz_$target" "$grown" "$root/fuzz/corpus/$target" \
      -dict="$root/fuzz/dictionaries/$target.dict" -max_len="${longest[$target]}" \
      -seed="${DMA_FUZZ_SEED:-0}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
      -detect_leaks=0 -print_final_stats=1 \
      -artifact_prefix="$build/findings/$target-") >"$scratch/$target.log" 2>&1 &
  running[$!]=$target
}

statistic() { sed -n "s/^stat::$2: *//p" "$scratch/$1.log" | tail -n 1; }

row() {
  local target=$1 result=$2 edges
  edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$scratch/$target.log" | tail -n 1)
  printf '%-10s %12s %10s %8s  %s\n' "$target" "$(statistic "$target" number_of_executed_units)" \
    "$(statistic "$target" average_exec_per_sec)" "$edges" "$result"
}

table="$scratch/table"
wait_for_one() {
  local process status=0
  wait -n -p process "${!running[@]}" || status=$?
  local target=${running[$process]}
  unset "running[$process]"
  if ((status == 0)); then
    row "$target" "nothing found" >>"$table"
    return
  fi
  local artifact
  artifact=$(sed -n 's/.*Test unit written to //p' "$scratch/$target.log" | tail -n 1)
  cp "$scratch/$target.log" "$build/findings/$target.log"
  tail -n 40 "$scratch/$target.log" >&2
  printf 'fuzz: %s: a finding: %s (log: %s)\n' "$target" "${artifact:-no input was kept}" \
    "$build/findings/$target.log" >&2
  exit 1
}

for target in "${targets[@]}"; do
  if ((${#running[@]} >= cores)); then wait_for_one; fi
  start "$target"
done
while ((${#running[@]} > 0)); do wait_for_one; done

printf '%-10s %12s %10s %8s  %s\n' target executions "per s" edges result
sort "$table"
