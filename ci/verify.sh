#!/usr/bin/env bash
# Prove on this machine that the harness can fail, then let it judge.
#   BINDIR   where gemmproof and its workers are (build/bin)
#   BACKEND  what to run on (auto: the program chooses)
#   SUITE    the case file (cases/default.yaml for cuBLAS, else smoke.yaml)
#   OUTDIR   where the reports go (out/verify-TIME)
# Exits 3 unless every planted fault was caught; else with the run's status.
set -u
cd "$(dirname "$0")/.." || exit 2
gemmproof=${BINDIR:-build/bin}/gemmproof
backend=${BACKEND:-auto}
suite=${SUITE:-}
out=${OUTDIR:-out/verify-$(date -u +%Y%m%d-%H%M%S)}

mkdir -p "$out" || exit 2
output=$("$gemmproof" selftest --backend "$backend" --out "$out/selftest" 2>&1)
status=$?
if [ "$status" -eq 2 ]; then
    printf '%s\n' "$output" >&2
    exit 2
elif [[ $output =~ there\ is\ no\ worker\ [^$'\n']* ]]; then
    echo "verify: ${BASH_REMATCH[0]}" >&2
    exit 3
elif [ "$status" -ne 0 ]; then
    printf '%s\n' "$output"
    echo "verify: a harness that misses a planted fault proves nothing:" \
        "no suite was run; the journal is in $out/selftest" >&2
    exit 3
fi
printf '%s\n' "$output" | tail -n 1

# Which backend `auto` is, only the program decides: its journal says it.
if [ -z "$suite" ]; then
    suite=cases/smoke.yaml
    grep -q '^{"record":"worker".*"backend":"cublas' \
        "$out/selftest/results.jsonl" && suite=cases/default.yaml
fi
exec "$gemmproof" run "$suite" --backend "$backend" --out "$out/run"
