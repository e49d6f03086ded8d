#!/usr/bin/env bats
# Workers that die, hang, talk nonsense or are not there: an error with a
# sentence, and the rest goes on. Run from the root: bats tests/cli/worker.bats

load runs

GOOD=f32.nn.8x8x8.dense.s1/naive/default
problem=f32.nn.9x9x9.dense.s1

# dies BACKEND KIND TEXT: exit 3, the run on it is an error with this, the run
# before and the run after it pass.
dies() {
    ends 3 run --only "f32.nn.7x7x7.dense.s1/naive/default" \
        --only "$problem/$1/default" --only "$GOOD" --execute-timeout 1 \
        --start-timeout 20 --out o || return
    same 'pass error pass' "$(runs .verdict | paste -sd ' ')" || return
    same "$2" "$(runs '.error.kind // empty')" || return
    runs '.error.text // empty' | tee text
    grep -qF -- "$3" text && grep -qF "$1" text && [ "$(wc -l < text)" -eq 1 ]
}

# fake LINES: the program gemmproof-worker-fake in a copy of the folder of
# programs, which is then used.
fake() {
    cp -r "$BIN" bin
    GEMMPROOF="$PWD/bin/gemmproof"
    { printf '#!/bin/sh\n'; cat; } > bin/gemmproof-worker-fake
    chmod +x bin/gemmproof-worker-fake
}

hello='echo '"'"'{"ok":true,"protocol":1,"worker":"fake","library":{"name":
"fake","version":"1","path":""},"device":{"name":"CPU","compute_capability":0},
"offers":[{"entry":"gemm","in":"f32","out":"f32","math":["default"],
"compute":[],"flag":true}],"schedules":["serial"],"faults":[]}'"'"

@test "a worker that is killed" {
    dies faulty=die-kill crash 'signal 9'
}

@test "a worker that crashes" {
    dies faulty=die-crash crash 'signal 6'
}

@test "a worker that hangs" {
    dies faulty=die-hang timeout 'did not answer within'
}

@test "a worker that answers its hello with garbage" {
    dies faulty=die-garbage backend 'its hello cannot be used'
}

@test "a worker that ends instead of greeting" {
    dies faulty=die-hello crash 'status 5'
}

@test "a worker that is not there" {
    dies nosuch backend 'there is no worker'
}

@test "a worker that cannot be executed" {
    fake <<< ''
    chmod -x bin/gemmproof-worker-fake
    dies fake backend 'there is no worker'
}

@test "a worker that answers execute with garbage" {
    fake <<< "read h; ${hello//$'\n'/}; read p; echo '{\"ok\":true}'
        read e; echo good morning; read x"
    dies fake backend 'not a reply of the protocol'
}

@test "a worker that leaves repeats out" {
    fake <<< "read h; ${hello//$'\n'/}; read p; echo '{\"ok\":true}'; read e
        echo '{\"ok\":true,\"digests\":[\"$(printf '%032d' 1)\"],
            \"order\":[[0,9]],\"differences\":[],\"outputs\":1}' | tr -d '\n'
        echo; read x"
    dies fake backend 'does not account for 10 repeats'
}

@test "a worker that chatters" {
    fake <<< "read h; echo to whom it may concern >&2; ${hello//$'\n'/}
        read p; exit 4"
    dies fake crash 'status 4'
    grep -q 'to whom it may concern' o/workers.log
    lacks stdout concern
    lacks stderr concern
}

@test "runs of other backends and problems go on, those of the dead are tried" {
    ends 3 run "$ROOT/cases/smoke.yaml" --match '*.31x37x41.dense.s1/*' \
        --backend faulty=die-kill,naive,nosuch --out o
    [ "$(runs 'select(.backend == "naive") | .verdict' | sort -u)" = pass ]
    same error "$(runs 'select(.backend != "naive") | .verdict' | sort -u)"
    same "$(runs 'select(.backend == "naive") | .id' | wc -l)" \
        "$(runs 'select(.backend == "nosuch") | .id' | wc -l)"
    # One that cannot be started is tried once, one that dies three times.
    same 1 "$(jq -r 'select(.record == "worker" and .backend == "nosuch") |
        .start' o/results.jsonl | wc -l)"
    same 3 "$(jq -r 'select(.record == "worker" and
        .backend == "faulty=die-kill") | .start' o/results.jsonl | tail -n 1)"
    grep -q 'given up after 3 failures' o/results.jsonl
}

# What a test that failed leaves behind.
teardown() {
    local pid
    for pid in ${workers:-} ${WORKER:-} ${PID:-}; do
        gone "$pid" || kill -9 "$pid"
    done
}

# start IDS...: run in the background what ends with a worker that hangs;
# PID is gemmproof's, WORKER that of the one that hangs.
start() {
    local ids=()
    for id in "$@"; do ids+=(--only "$id"); done
    "$GEMMPROOF" run "${ids[@]}" --execute-timeout 600 --out o \
        > stdout 2> stderr 3>&- &
    PID=$!
    until_done pgrep -P "$PID" -f worker-faulty
    WORKER="$(pgrep -P "$PID" -f worker-faulty)"
    until_done grep -q '"faulty=die-hang"' o/results.jsonl
}

@test "a worker that is killed from outside" {
    start "$problem/faulty=die-hang/default" "$GOOD"
    kill -9 "$WORKER"
    status=0
    wait "$PID" || status=$?
    same 3 "$status"
    same 'error pass' "$(runs .verdict | paste -sd ' ')"
    runs '.error.text // empty' | grep -F 'signal 9'
}

@test "gemmproof itself is killed: no worker stays, the journal is readable" {
    start f32.nn.7x7x7.dense.s1/naive/default \
        "$problem/faulty=die-hang/default" "$GOOD"
    workers="$(pgrep -P "$PID")"
    [ "$(wc -l <<< "$workers")" -eq 2 ]
    kill -9 "$PID"
    wait "$PID" || true
    for worker in $workers; do until_done gone "$worker"; done
    same pass "$(runs .verdict)"
    ends 0 report o
    grep -q 'STOPPED before its end' stdout
    grep -q '2 planned runs without a record' stdout
    grep -q 'Not green' stdout
}

# --- What a worker sees ------------------------------------------------------

# seen RUN OPTIONS...: the environment of the worker fake for this run, in env.
seen() {
    local run="$1"
    shift
    rm -rf o env
    CUBLAS_WORKSPACE_CONFIG=:1:1 CUBLASLT_LOG_LEVEL=5 CUBLAS_LOGINFO_DBG=1 \
        OPENBLAS_NUM_THREADS=7 OMP_NUM_THREADS=7 GOTO_NUM_THREADS=7 \
        NVIDIA_TF32_OVERRIDE=1 CUDA_LAUNCH_BLOCKING=1 LD_PRELOAD=nothing.so \
        OPENBLAS_CORETYPE=Prescott GP_OTHER=kept \
        ends 3 run --only "$run" --out o "$@"
    [ -s env ]
}

# shellcheck disable=SC2016 # the worker's own $0
record() {
    fake <<< 'env > "${0%/bin/*}/env"; exit 1'
}

@test "the environment of a worker is built" {
    record
    seen f32.nn.8x8x8.dense.s1/fake/default
    lacks env '^(CUBLAS|OPENBLAS_NUM|OMP_|GOTO_|NVIDIA_TF32|LD_PREL|CUDA_L)'
    grep -qx OPENBLAS_CORETYPE=Prescott env
    grep -qx GP_OTHER=kept env
    same Prescott "$(jq -r 'select(.record == "head") |
        .environment.OPENBLAS_CORETYPE' o/results.jsonl)"
}

@test "the workspace is set exactly where the run has one" {
    record
    seen f32.nn.8x8x8.dense.s1/fake/default/ws=16x8
    grep -qx CUBLAS_WORKSPACE_CONFIG=:16:8 env
    [ "$(grep -c CUBLAS env)" -eq 1 ]
    same :16:8 "$(jq -r 'select(.record == "worker") |
        .environment.CUBLAS_WORKSPACE_CONFIG' o/results.jsonl)"
    seen f32.nn.8x8x8.dense.s1/fake/default/ws=4096x2x16x8
    grep -qx CUBLAS_WORKSPACE_CONFIG=:4096:2:16:8 env
}

@test "as it is, the environment stays, but for the workspace" {
    record
    seen f32.nn.8x8x8.dense.s1/fake/default --as-is
    grep -qx NVIDIA_TF32_OVERRIDE=1 env
    grep -qx OPENBLAS_NUM_THREADS=7 env
    lacks env CUBLAS_WORKSPACE_CONFIG
    same 1 "$(jq -r 'select(.record == "worker") |
        .environment.NVIDIA_TF32_OVERRIDE' o/results.jsonl)"
}

# --- cublas ------------------------------------------------------------------

@test "cublas without a GPU is an error, not a skip" {
    without_gpu
    [ -x "$BIN/gemmproof-worker-cublas" ] || skip 'cublas is not built'
    ends 3 run --only f32.nn.8x8x8.dense.s1/cublas/default --out o
    same error "$(runs .verdict)"
    same 1 "$(runs .error.text | wc -l)"
    [ "$(runs '.error.text | length')" -gt 20 ]
}

@test "a machine that must have a GPU chooses cublas" {
    without_gpu
    GEMMPROOF_REQUIRE_GPU=1 ends 3 gemm 8 8 8 --out o
    same cublas "$(runs .backend | sort -u)"
    same error "$(runs .verdict | sort -u)"
    rm -r o
    GEMMPROOF_REQUIRE_GPU=0 ends 0 gemm 8 8 8 --out o
    same 'naive openblas' "$(runs .backend | sort -u | paste -sd ' ')"
}

@test "every worker tells what it is" {
    for worker in "$BIN"/gemmproof-worker-*; do
        "$worker" --help > said
        grep -q "the gemmproof worker '${worker##*-worker-}'" said
    done
}
