#!/usr/bin/env bats
# run --redact: nothing in journal or reports names the machine, and what is
# needed to run it again stays. Run from the root: bats tests/cli/redact.bats

load runs

# A worker of another name that says of its device and library what a GPU's
# worker would; everything else is naive's.
private_worker() {
    mkdir -p bin
    cp "$GEMMPROOF" bin # it looks for workers beside itself
    ln -sf "$BIN/gemmproof-worker-faulty" bin
    cat > bin/gemmproof-worker-naive << 'END'
#!/usr/bin/env bash
here="$(dirname "$0")"
exec "$here/real-naive" "$@" > >(sed -u '1{
    s|"name":"CPU"|"name":"CPU","uuid":"GPU-1b2c3d4e-5f60-7182-93a4-b5c6d7e8f901","pci_bus_id":"00000000:1B:00.0"|
    s|"path":""|"path":"/usr/lib/secret/libblas.so.3"|}')
END
    chmod +x bin/gemmproof-worker-naive
    ln -sf "$BIN/gemmproof-worker-naive" bin/real-naive
    GEMMPROOF="$PWD/bin/gemmproof"
}

# A run with paths, variables and a device that could be recognised; red, so
# that the reports have findings and commands.
recorded() {
    local name="$1"
    shift
    cp "$ROOT/cases/tiny.yaml" here.yaml
    LD_LIBRARY_PATH=/opt/secret/lib ends 1 run "$PWD/here.yaml" \
        --backend naive,faulty=one-ulp --out "$PWD/$name" "$@"
}

# What a file tells of the machine, one a line.
told() {
    local file
    for file in "$1"/*; do
        grep -noiwF -- "$(uname -n)" "$file" | sed "s|^|$file: host: |"
        grep -noE -- "(GPU|MIG)-[0-9a-f]{8}|[0-9A-Fa-f]{8}:[0-9A-F]{2}:00\.0" \
            "$file" | sed "s|^|$file: device: |"
        grep -nF -e "$PWD" -e "${BIN%/}/" -e "$ROOT/" -e secret "$file" |
            sed "s|^|$file: path: |"
        grep -noE -- "(^|[] \"'=(:,;[])/[A-Za-z0-9.][A-Za-z0-9._-]*/[^ \"']*" \
            "$file" | grep -vE '"http|//' | sed "s|^|$file: path: |"
    done
}

@test "a redacted run tells nothing of the machine" {
    private_worker
    recorded o --redact
    told o > tells
    cat tells
    [ ! -s tells ]
    # It is there to be told: the same run without the word.
    recorded open
    told open > tells
    for what in host device path; do
        grep -q "results.jsonl: $what: " tells || {
            echo "not told: $what"
            return 1
        }
    done
    same "$(names open)" "$(names o) workers.log"
}

@test "keys, ids and commands stay" {
    private_worker
    recorded o --redact
    recorded open
    same '- -' "$(jq -r 'select(.record == "head") |
        "\(.started.host) \(.environment.LD_LIBRARY_PATH // "-")"' o/results.jsonl)"
    same '- - -' "$(jq -r 'select(.backend == "naive" and
        .record == "worker") | "\(.device.uuid) \(.device.pci_bus_id)" +
        " \(.library.path)"' o/results.jsonl | head -n 1)"
    for what in .id .verdict .findings .type; do
        runs "$what" > here
        jq -r "select(.record == \"run\") | $what" open/results.jsonl > there
        cmp here there
    done
    # A run can be found by its id in both.
    id="$(runs 'select(.verdict == "fail") | .id' | head -n 1)"
    grep -qF "$id" o/report.md
}

@test "reports made again from a redacted journal tell nothing either" {
    private_worker
    recorded o --redact
    mkdir again
    ends 0 report o --out again
    [ -s again/report.md ]
    told again > tells
    cat tells
    [ ! -s tells ]
}
