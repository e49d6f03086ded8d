#!/usr/bin/env bash
# On a machine with a GPU: what only shows there, beside a suite's journal.
#   ci/gpu-extra.sh OUTPUT_FOLDER BUNDLE.tar.gz
# doctor; the bundle, unpacked elsewhere; a known fault's run and its
# repro --c, compiled there; the regression sweep behind it.
set -u
out=$1
bundle=$2
bin=${BINDIR:-build/bin}
id=bf16xf32.nn.128x128x26632.exact.s1/cublas/default/r3
work=$(mktemp -d)
mkdir -p "$out"

timeout 60 "$bin/gemmproof" doctor >"$out/doctor.txt" 2>&1
echo "doctor: exit $?"

tar -C "$work" -xzf "$bundle"
(cd "$work"/gemmproof-* && timeout 120 ./run.sh run cases/smoke.yaml \
    --backend cublas --out "$work/smoke") >"$out/bundle.txt" 2>&1
echo "bundle: smoke on cublas: exit $?"

timeout 60 "$bin/gemmproof" repro "$id" --c "$work/repro.cu" &&
    nvcc -o "$work/repro" "$work/repro.cu" -lcublas >"$out/repro.txt" 2>&1 &&
    timeout 60 "$work/repro" >>"$out/repro.txt" 2>&1
echo "repro: exit $? (1: the finding shows)"

timeout 120 "$bin/gemmproof" run cases/default.yaml --backend cublas \
    --match '*.nn.128x128x*exact*/r3' --out "$work/known" \
    >"$out/known.txt" 2>&1
echo "known: exit $?"
timeout 200 "$bin/gemmproof" run cases/regress/cublas-13.1-k-tail.yaml \
    --backend cublas --redact --no-known --out "$work/regress" \
    >"$out/regress.txt" 2>&1
echo "regress: exit $?"
gzip -9 <"$work/regress/results.jsonl" >"$out/regress.jsonl.gz"
rm -rf "$work"
