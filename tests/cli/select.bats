#!/usr/bin/env bats
# Which runs: --only, --match, --backend, --mode, --workspace, --repeats,
# --inject, the command gemm, and the lists of words.
# Run from the root: bats tests/cli/select.bats

load runs

P=f32.nn.8x8x8.dense.s1

# planned OPTIONS...: the ids that plan prints, in one line.
planned() {
    ends 0 plan "$@" && paste -sd ' ' stdout
}

case_file() {
    cat > x.yaml <<'END'
suite: s
cases:
  - name: one
    sizes: [[8, 8, 8], [9, 9, 9]]
    modes: [default, pedantic]
    workspaces: [unset, "16:8"]
    backends: [cublas]
END
}

# --- Selection ---------------------------------------------------------------

@test "a case file plans all of its runs" {
    case_file
    ends 0 plan x.yaml
    same 8 "$(wc -l < stdout)"
    same "$P/cublas/default" "$(head -n 1 stdout)"
    says '8 runs of 2 problems, 2 distinct'
}

@test "--only, with and without a case file" {
    case_file
    same "$P/cublas/pedantic/ws=16x8" \
        "$(planned x.yaml --only "$P/cublas/pedantic/ws=16x8")"
    same "$P/cublas/default $P/cublas/pedantic" \
        "$(planned x.yaml --only "$P/cublas/pedantic,$P/cublas/default")"
    same "f64.tt.1x2x3.exact.s9/naive/pedantic/r3" \
        "$(planned --only f64.tt.1x2x3.exact.s9/naive/pedantic/r3)"
    ends 0 run --only "$P/naive/default" --out o
    same "$P/naive/default" "$(runs .id)"
}

@test "--only, the same id twice is one run" {
    ends 0 run --only "$P/naive/default" --only "$P/naive/default" --out o
    same "$P/naive/default" "$(runs .id)"
    lacks stdout 'without a record'
}

@test "--match" {
    case_file
    same "$P/cublas/default/ws=16x8 $P/cublas/pedantic/ws=16x8" \
        "$(planned x.yaml --match '*8x8x8*/ws=*')"
    same 4 "$(planned x.yaml --match '*.8x8x8.*' | wc -w)"
    same 5 "$(planned x.yaml --match '*.8x8x8.*' --match '*.9x9x9.*/default' |
        wc -w)"
    same 1 "$(planned x.yaml --match '*/ws=*' --only \
        "$P/cublas/default,$P/cublas/default/ws=16x8" | wc -w)"
}

@test "--backend, --mode and --workspace" {
    case_file
    same 'cublas openblas' "$(planned x.yaml --backend cublas,openblas |
        tr ' ' '\n' | cut -d / -f 2 | sort -u | paste -sd ' ')"
    same pedantic "$(planned x.yaml --mode pedantic | tr ' ' '\n' |
        cut -d / -f 3 | sort -u)"
    same "$P/cublas/default/ws=0x0" "$(planned x.yaml --workspace 0:0 \
        --mode default --match '*.8x8x8.*')"
    same 20 "$(planned x.yaml --workspace all | wc -w)"
    refused plan x.yaml --mode tf32 --out o
    says 'plans no run'
}

@test "--repeats" {
    case_file
    same "$P/cublas/default/r3" "$(planned x.yaml --repeats 3 --mode default \
        --workspace unset --match '*.8x8x8.*')"
    ends 0 run --only "$P/naive/default" --repeats 3 --out o
    # The id of a run is what was run.
    same "$P/naive/default/r3 3" "$(runs '"\(.id) \(.repeats)"')"
}

@test "options that an id cannot follow are not ignored" {
    for option in '--backend openblas' '--mode pedantic' '--match f64*' \
        '--workspace 16:8'; do
        status=0
        # shellcheck disable=SC2086 # an option and its value
        "$GEMMPROOF" plan --only "$P/cublas/default" $option \
            > stdout 2> stderr || status=$?
        [ "$status" -eq 2 ] || [ "$(cat stdout)" != "$P/cublas/default" ] || {
            echo "ignored: $option"
            return 1
        }
    done
}

@test "lists without a word are no lists" {
    case_file
    for option in --mode --backend --workspace --match; do
        refused plan x.yaml "$option" ,
    done
}

@test "each id of a plan runs by itself" {
    ends 0 plan "$ROOT/cases/smoke.yaml" --backend naive,cublas
    mv stdout ids
    [ "$(wc -l < ids)" -gt 300 ]
    same "$(sort -u ids | wc -l)" "$(wc -l < ids)"
    lacks ids '[^a-z0-9.+=_/-]'
    # shellcheck disable=SC2046 # ids have no blanks
    ends 0 plan $(sed 's/^/--only /' ids)
    diff ids stdout
}

@test "variants that an id cannot hold are refused" {
    for variant in a.b a_b x=y; do
        printf 'suite: s\ncases: [{name: a, sizes: 8, backends: faulty=%s}]\n' \
            "$variant" > x.yaml
        status=0
        "$GEMMPROOF" plan x.yaml > ids 2> stderr || status=$?
        [ "$status" -eq 2 ] || ends 0 plan --only "$(cat ids)"
    done
}

# --- gemm --------------------------------------------------------------------

@test "gemm M N K, with a type, modes and workspaces" {
    ends 0 gemm 8 9 10 --backend naive --out o
    same 'f32.nn.8x9x10.dense.s1 f32.nn.8x9x10.exact.s1' \
        "$(runs .problem | sort -u | paste -sd ' ')"
    rm -r o
    ends 0 gemm 8 9 10 f16:f32 --modes all --backend naive --out o
    same 'default no-reduced-precision pedantic' \
        "$(runs .mode | sort -u | paste -sd ' ')"
    same f16:f32 "$(runs .type | sort -u)"
    rm -r o
    ends 3 gemm 8 9 10 --workspaces all --mode tf32,pedantic --backend nosuch \
        --out o
    same '0:0 16:8 4096:2:16:8 4096:8 unset' \
        "$(runs .workspace | sort -u | paste -sd ' ')"
    same 'pedantic tf32' "$(runs .mode | sort -u | paste -sd ' ')"
}

@test "gemm with wrong words" {
    refused gemm --out o
    refused gemm 8 8 --out o
    refused gemm 8 8 8 f32 9 --out o
    for size in 0 eight 8x 2147483648 1e3 '' ' 8' '8 ' 08 +8; do
        refused gemm 8 "$size" 8 --out o
        says "N is '$size'"
    done
    refused gemm 8 8 8 f8 --out o
    says "no type 'f8'"
    refused gemm 8 8 8 --modes tf23 --out o
    says "'tf32'"
    refused gemm 8 8 8 --workspaces 16 --out o
    refused gemm 8 8 8 f64 --mode tf32 --backend naive --out o
}

# --- Faults that are planted -------------------------------------------------

# red CHECK FAULT: the fault makes this check of the run red, and is recorded.
red() {
    same "fail $2" "$(runs '"\(.verdict) \(.fault)"' | sort -u)" || return
    same "$1" "$(runs '.findings[] | select(.verdict == "fail") | .check' |
        sort -u | grep -x "$1")"
}

@test "--inject, with a case file, with gemm and with an id" {
    printf 'suite: s\ncases: [{name: a, sizes: [[8, 9, 100]]}]\n' > x.yaml
    for fault in bit:3:70:0 variant:6 input:5 guard:9; do
        check=repeat
        [[ "$fault" == [ig]* ]] && check=guard
        ends 1 run x.yaml --backend naive --inject "$fault" --out o
        red "$check" "$fault"
        rm -r o
        ends 1 gemm 8 9 100 --backend naive --inject "$fault" --out o \
            --match '*.dense.*'
        red "$check" "$fault"
        rm -r o
        ends 1 run --only f32.nn.8x9x100.dense.s1/naive/default --inject \
            "$fault" --out o
        red "$check" "$fault"
        # The id holds the fault: it is its own repro.
        id="$(runs .id)"
        rm -r o
        ends 1 run --only "$id" --out o
        red "$check" "$fault"
        rm -r o
    done
}

@test "--inject names the repeat and the element" {
    ends 1 gemm 8 9 100 --backend naive --inject bit:3:70:0 --out o \
        --match '*.dense.*'
    same '6 8 3' "$(runs '.findings[] | select(.check == "repeat") | .where |
        "\(.i) \(.j) \(.repeat)"')"
}

@test "--inject where there is no such place" {
    ends 3 gemm 8 9 10 --backend naive --inject bit:3:72:0 --out o
    same error "$(runs .verdict | sort -u)"
    runs .error.text | grep -q 'not in D'
    rm -r o
    ends 3 gemm 8 9 10 --backend naive --inject guard:4096 --out o
}

@test "selftest sees every planted fault" {
    ends 0 selftest --backend naive --out o
    lacks stdout MISSED
    [[ "$(tail -n 1 stdout)" =~ ^selftest:\ ([0-9]+)\ of\ ([0-9]+)\ planted ]]
    same "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    [ "${BASH_REMATCH[1]}" -ge 8 ]
    same fail "$(runs .verdict | sort -u)"
}

@test "selftest on what cannot be planted is not green" {
    ends 3 selftest --backend nosuch --out o
    grep -q MISSED stdout
    grep -q '^selftest: 0 of' stdout
}

# --- Lists -------------------------------------------------------------------

@test "list has every topic, and all of them without one" {
    ends 0 list
    mv stdout all
    for topic in modes checks relations families types schedules workspaces \
        entries formats keys; do
        ends 0 list "$topic"
        same "$topic" "$(head -n 1 stdout)"
        [ "$(grep -cE '^  [^ ]+ +[^ ]' stdout)" -ge 1 ]
        grep -qx "$topic" all
    done
    ends 0 list modes
    for mode in default pedantic tf32 no-reduced-precision; do
        grep -qE "^  $mode " stdout
    done
    ends 0 list checks
    for check in bound exact repeat guard; do
        grep -qE "^  $check " stdout
    done
}

@test "list of what is not there" {
    refused list moods
    says "'modes'"
}

@test "factors in device memory are skipped by workers that have none" {
    printf '%s\n' 'suite: x' 'cases:' '  - name: a' '    sizes: 8' \
        '    scalars: [host, device]' > x.yaml
    ends 0 run x.yaml --backend naive --out out
    grep -q 'planned 2, run 1, pass 1 .*skip 1 (not offered 1)' stdout
    grep -q '/naive/default/scalars=device"' out/results.jsonl
    sed -i 's/host, device/host, mars/' x.yaml
    ends 2 plan x.yaml
    grep -q "'mars'" stderr
}
