#!/usr/bin/env bats
# The worker `faulty`: each sin is caught by the check that tests/faults.tsv
# names. Run from the root: bats tests/cli/faults.bats

load runs

# rows COMMAND...: run it for each row with the columns and the id; every row
# that fails is named.
rows() {
    local bad=0 count=0 sin check family run id
    while IFS=$'\t' read -r sin check family run; do
        [[ "$sin" == '#'* ]] && continue
        id="${run/FAMILY/$family}"
        id="${id/SIN/$sin}"
        count=$((count + 1))
        "$@" "$sin" "$check" "$id" || {
            echo "^ $sin must be seen by $check in $id"
            bad=$((bad + 1))
        }
    done < "$ROOT/tests/faults.tsv"
    echo "$bad of $count rows failed"
    [ "$count" -ge 80 ] && [ "$bad" -eq 0 ]
}

# The status, and the verdict of the check.
caught() {
    local check="$2" status=1
    [ "$check" = - ] && status=0
    [ "$check" = error ] && status=3
    rm -rf o
    ends "$status" run --only "$3" --execute-timeout 1 --out o || return
    same 1 "$(runs .id | wc -l)" || return
    case "$check" in
    -) same 'pass 0' "$(runs '"\(.verdict) \(.findings |
        map(select(.verdict != "pass" or .flags != [])) | length)"')" ;;
    error) same error "$(runs .verdict)" &&
        [ "$(runs '.error.text | length')" -gt 20 ] ;;
    *) same fail "$(runs ".findings[] | select(.check == \"$check\") |
        .verdict")" ;;
    esac
}

@test "each sin is caught by its check, and no sin raises nothing" {
    rows caught
}

named() {
    echo "$1" >> named
}

@test "every sin of the worker has its row" {
    : > named
    rows named
    ends 3 run --only f32.nn.8x8x8.dense.s1/faulty=no-such-sin/default --out o
    runs .error.text | sed 's/.* one of //' | tr ' ' '\n' | sort > listed
    [ "$(wc -l < listed)" -ge 31 ]
    sort -u named > have
    diff listed have
}

# The same runs without the sin are green: it is the sin that is caught.
innocent() {
    [ "$2" != error ] || return 0
    rm -rf o
    ends 0 run --only "${3/faulty=$1/faulty=none}" --out o
}

@test "what is caught is the sin" {
    rows innocent
}

@test "where the fault is, is said" {
    ends 1 run --only f32.nn.8x8x8.dense.s1/faulty=flip-bit/default --out o
    # Element 32 of 8 x 8 in repeat 7: the flipped one.
    same '{"i":0,"j":4,"batch":0,"repeat":7}' \
        "$(runs '.findings[] | select(.check == "repeat") | .where | tojson')"
    same '[[0,7],[1,1],[0,2]]' "$(runs '.order | tojson')"
    rm -r o
    ends 1 run --only f32.nn.7x5x8.dense.s1/faulty=skip-last/default --out o
    same '6 4' "$(runs '.findings[] | select(.check == "guard") | .where |
        "\(.i) \(.j)"')"
}
