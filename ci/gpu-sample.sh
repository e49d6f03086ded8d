#!/usr/bin/env bash
# On a machine with a GPU: prove that the harness can fail there, then run a
# suite and keep its journal, compressed, with the text report.
#   ci/gpu-sample.sh OUTPUT_FOLDER [SUITE] [SECONDS]
set -u
out=$1
suite=${2:-cases/default.yaml}
seconds=${3:-400}
bin=${BINDIR:-build/bin}
mkdir -p "$out"

timeout 90 "$bin/gemmproof" selftest --backend cublas --out "$out/selftest.d" \
    >"$out/selftest.txt" 2>&1
echo "selftest: exit $?" | tee -a "$out/selftest.txt"
start=$(date +%s)
timeout "$seconds" "$bin/gemmproof" run "$suite" --backend cublas \
    --no-known --redact --out "$out/run" \
    >"$out/report.txt" 2>"$out/chatter.txt"
echo "run: exit $? after $(($(date +%s) - start)) s" |
    tee -a "$out/chatter.txt"
tail -n 3 "$out/chatter.txt"
head -n 40 "$out/report.txt"
gzip -9 <"$out/run/results.jsonl" >"$out/results.jsonl.gz"
cp "$out/run/workers.log" "$out/workers.log" 2>/dev/null
for file in report.md report.json junit.xml; do
    gzip -9 <"$out/run/$file" >"$out/$file.gz"
done
rm -rf "$out/run" "$out/selftest.d"
ls -l "$out"
