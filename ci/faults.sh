#!/usr/bin/env bash
# Every planted fault of tests/faults.tsv, and what catches it: one line each.
# Caught is a row whose check fails in the run it names, on the family it
# names, while the same run without the fault is green. The last line is
# CAUGHT/PLANTED; rows that must raise nothing are counted before it.
#   BINDIR   where gemmproof and its workers are (build/bin)
#   FAULTS   the table (tests/faults.tsv)
#   OUTDIR   where the journals go (a temporary folder, removed)
# Exits 1 if a fault is missed or a clean row raises anything.
set -u
cd "$(dirname "$0")/.." || exit 2
gemmproof=${BINDIR:-build/bin}/gemmproof
table=${FAULTS:-tests/faults.tsv}
out=${OUTDIR:-}
if [ -z "$out" ]; then
    out=$(mktemp -d) || exit 2
    trap 'rm -rf "$out"' EXIT
fi

# What was seen, by id: the verdict; by id and check: the check's; by id: how
# many findings are anything but a plain pass, or not judged (skip).
declare -A verdict finding raised

# ids FILE WORDS...: run the ids in the file, and learn what came of them.
ids() {
    local file=$1 folder status=0 id check what
    local -a words
    shift
    [ -s "$file" ] || return 0
    folder=${file%.ids}
    while read -r id; do
        words+=(--only "$id")
    done < <(sort -u "$file")
    "$gemmproof" run "${words[@]}" --quiet --out "$folder" "$@" || status=$?
    if [ "$status" -eq 2 ]; then
        exit 2
    fi
    while IFS=$'\t' read -r id check what; do
        case $check in
        run) verdict[$id]=$what ;;
        raised) raised[$id]=$what ;;
        *) finding[$id $check]=$what ;;
        esac
    done < <(jq -r '
        if .record == "run" then
            [.id, "run", .verdict],
            [.id, "raised", ([.findings[]? | select(.verdict != "skip" and
                (.verdict != "pass" or .flags != []))] | length)],
            (.id as $id | .findings[]? | [$id, .check, .verdict])
        elif .record == "relation" then
            . as $r | .members[] | [., $r.relation, $r.verdict]
        else empty end | @tsv' "$folder/results.jsonl")
}

# The columns of a row, and its ids: where a relation is to catch it, more than
# one, parted by blanks; the first is the one that is named.
rows() {
    local sin check family run
    while IFS=$'\t' read -r sin check family run; do
        [[ $sin == '#'* || -z $sin ]] && continue
        run=${run//FAMILY/$family}
        "$1" "$sin" "$check" "$family" "$run"
    done <"$table"
}

collect() {
    local sin=$1 check=$2 run=$4 id
    for id in $run; do
        if [ "$check" = error ]; then
            echo "${id/SIN/$sin}" >>"$out/error.ids"
        else
            echo "${id/SIN/$sin}" >>"$out/sin.ids"
        fi
        echo "${id/faulty=SIN/faulty=none}" >>"$out/none.ids"
    done
}

# What became of a row, in the words of its line; 0 if it is as it should be.
row_seen() {
    local check=$1 run=$2 id innocent
    for id in $run; do
        innocent=${id/faulty=SIN/faulty=none}
        if [ "${verdict[$innocent]:-none}" != pass ]; then
            seen="without the fault the run is no pass"
            return 1
        fi
    done
    id=${run%% *}
    id=${id/SIN/$sin}
    case $check in
    -)
        seen="nothing raised"
        [ "${verdict[$id]:-}" = pass ] && [ "${raised[$id]}" -eq 0 ] && return 0
        ;;
    error)
        seen="an error"
        [ "${verdict[$id]:-}" = error ] && return 0
        ;;
    *)
        seen="by $check"
        [ "${finding[$id $check]:-}" = fail ] && return 0
        ;;
    esac
    seen="not by $check: verdict ${verdict[$id]:-none}"
    for innocent in "${!finding[@]}"; do
        [ "${innocent% *}" = "$id" ] &&
            seen+=", ${innocent##* } ${finding[$innocent]}"
    done
    return 1
}

planted=0 caught=0 clean=0 quiet=0

tell() {
    local sin=$1 check=$2 family=$3 run=$4 seen good=1 word=caught
    row_seen "$check" "$run" || good=0
    if [ "$check" = - ]; then
        clean=$((clean + 1)) quiet=$((quiet + good)) word=clean
        [ "$good" -eq 1 ] || word=RAISED
    else
        planted=$((planted + 1)) caught=$((caught + good))
        [ "$good" -eq 1 ] || word=MISSED
    fi
    printf '%-6s  %-18s on %-10s %s  %s\n' "$word" "$sin" "$family" "$seen" \
        "${run//SIN/$sin}"
}

mkdir -p "$out" || exit 2
rm -rf "$out"/*.ids "$out"/sin "$out"/none "$out"/error
rows collect
ids "$out/sin.ids"
ids "$out/none.ids"
# One that hangs does so for as long as it may.
ids "$out/error.ids" --execute-timeout 1
rows tell
echo "$quiet of $clean clean runs raised nothing"
echo "$caught/$planted planted faults caught"
[ "$planted" -gt 0 ] && [ "$caught" -eq "$planted" ] && [ "$quiet" -eq "$clean" ]
