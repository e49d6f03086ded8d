#!/usr/bin/env bats
# Case files: what loads, and one sentence with its place for what does not.
# Run from the root: GEMMPROOF=build/bin/gemmproof bats tests/cli/load.bats

setup() {
    GEMMPROOF="$(realpath "${GEMMPROOF:-build/bin/gemmproof}")"
    CASES="$(realpath cases)"
    cd "$BATS_TEST_TMPDIR"
}

# A file of one case from the lines on stdin: they begin in line 5.
case_file() {
    { printf 'suite: s\ncases:\n  - name: one\n    sizes: 8\n'; cat; } > x.yaml
}

# A file of one case with these sizes, in line 4.
sizes_file() {
    printf 'suite: s\ncases:\n  - name: one\n    sizes: %s\n' "$1" > x.yaml
}

loads() {
    "$GEMMPROOF" plan "$@" > /dev/null
}

# refused FILE PLACE WORDS...: status 2 and one line on stderr that names the
# place and every one of the words, and is fit for a terminal.
refused() {
    local file="$1" place="$2" status=0
    shift 2
    "$GEMMPROOF" plan "$file" > out 2> err || status=$?
    cat err
    [ "$status" -eq 2 ]
    [ "$(wc -l < err)" -eq 1 ]
    [ ! -s out ]
    grep -qF -- "$place" err
    [ "$(LC_ALL=C grep -c '[[:cntrl:]]' err)" -eq 0 ]
    for words in "$@"; do
        grep -qF -- "$words" err
    done
}

# --- What loads --------------------------------------------------------------

@test "every case file of the tree loads" {
    for file in "$CASES"/*.yaml; do
        [ "${file##*/}" = known.yaml ] || loads "$file"
    done
}

@test "only a name and a size are needed" {
    case_file < /dev/null
    loads x.yaml
}

@test "every key loads, as one value and as a list" {
    case_file <<'END'
    about: all keys, one value each
    types: f16:f32
    ops: nt
    ld: tight+3
    batch: 2
    alpha: -0.5
    beta: 0x1p-3
    families: dense
    modes: pedantic
    entry: gemm-ex
    workspaces: 16:8
    schedules: serial
    repeats: 3
    backends: naive
    seeds: 18446744073709551615
    require: repeat
  - name: two
    sizes: [[1, 2, 3], [{from: 8, to: 32, times: 2}, 4, 8], 64]
    types: [f32, "f64"]
    ops: [nn, nt, tn, tt]
    ld: [tight, tight+1]
    batch: [1, 2]
    alpha: [1, 1.5]
    beta: [0, 2]
    families: [dense, exact]
    modes: [default, pedantic]
    entry: [gemm, gemm-ex]
    workspaces: [unset, 16:8, "4096:2:16:8"]
    schedules: [serial]
    backends: [naive]
    seeds: [0, 1]
    require: [repeat, bound]
END
    loads x.yaml
}

@test "sizes: a number, a range, a product of ranges" {
    for sizes in 64 '{from: 8, to: 64, times: 2}' '{from: 1, to: 9, plus: 4}' \
        '[8, 16]' '[[8, {from: 1, to: 3, plus: 1}, 2]]' '[[2, 2, 2147]]'; do
        sizes_file "$sizes"
        loads x.yaml
    done
}

@test "anchors, comments, a byte order mark and CRLF are YAML too" {
    printf '\357\273\277suite: s # a\r\ncases:\r\n' > x.yaml
    printf '  - name: a\r\n    sizes: &s [[8, 8, 8]]\r\n' >> x.yaml
    printf '  - {name: b, sizes: *s}\r\n' >> x.yaml
    loads x.yaml
}

@test "a file includes others of its folder" {
    mkdir -p d/sub
    printf 'suite: a\ninclude: [sub/b.yaml]\ncases: [{name: a, sizes: 8}]\n' \
        > d/a.yaml
    printf 'suite: b\ninclude: [c.yaml]\ncases: [{name: b, sizes: 8}]\n' \
        > d/sub/b.yaml
    printf 'suite: c\ncases: [{name: c, sizes: 8}]\n' > d/sub/c.yaml
    loads d/a.yaml
}

# --- Keys --------------------------------------------------------------------

@test "an unknown key of a case" {
    case_file <<< '    mode: tf32'
    refused x.yaml x.yaml:5:5: "no key 'mode' in a case" "'modes'?"
}

@test "an unknown key at the top, of a range" {
    printf 'suite: s\ncase: []\n' > x.yaml
    refused x.yaml x.yaml:2:1: "no key 'case'" "'cases'?"
    sizes_file '{from: 1, to: 8, time: 2}'
    refused x.yaml x.yaml:4:29: "no key 'time' in a range" "'times'?"
}

@test "a key given twice" {
    case_file <<< $'    ops: nn\n    types: f32\n    ops: tn'
    refused x.yaml x.yaml:7:5: "'ops' stands twice" "lines 5 and 7"
}

@test "a merge key" {
    case_file <<< $'    <<: {ops: nn}'
    refused x.yaml x.yaml:5:5: 'merge keys (<<)'
}

@test "a key that is a list" {
    case_file <<< $'    ? [a, b]\n    : c'
    refused x.yaml x.yaml:5:7: 'a key of a case is a word, not a list'
}

@test "no suite, no cases, no name, no sizes" {
    printf 'cases: [{name: a, sizes: 8}]\n' > x.yaml
    refused x.yaml x.yaml:1:1: "has no 'suite'"
    printf 'suite: s\n' > x.yaml
    refused x.yaml x.yaml:1:1: "has no 'cases'"
    printf 'suite: s\ncases:\n  - sizes: 8\n' > x.yaml
    refused x.yaml x.yaml:3:5: "a case has no 'name'"
    printf 'suite: s\ncases:\n  - name: a\n' > x.yaml
    refused x.yaml x.yaml:3:5: "a case has no 'sizes'"
}

# --- Kinds -------------------------------------------------------------------

@test "a list or a word where a map is needed" {
    printf -- '- a\n- b\n' > x.yaml
    refused x.yaml x.yaml:1:1: 'a case file is a map' 'not a list'
    printf 'suite: s\ncases: [one]\n' > x.yaml
    refused x.yaml x.yaml:2:9: 'a case is a map' 'not a single value'
}

@test "a map or a word where a list is needed" {
    printf 'suite: s\ncases: {name: a, sizes: 8}\n' > x.yaml
    refused x.yaml x.yaml:2:8: "'cases' takes a list" 'not a map'
    printf 'suite: s\ninclude: a.yaml\ncases: []\n' > x.yaml
    refused x.yaml x.yaml:2:10: "'include' takes a list" 'not a single value'
}

@test "a map or a list where a single value is needed" {
    case_file <<< '    types: {f16: f32}'
    refused x.yaml x.yaml:5:12: 'a type is a single value, not a map'
    case_file <<< '    ops: [[nn, tn]]'
    refused x.yaml x.yaml:5:11: 'an op is a single value, not a list'
    case_file <<< '    repeats: [10]'
    refused x.yaml x.yaml:5:14: "'repeats' is a single value, not a list"
    printf 'suite: [s]\ncases: []\n' > x.yaml
    refused x.yaml x.yaml:1:8: 'the suite is a single value, not a list'
}

@test "an empty list, no value" {
    case_file <<< '    modes: []'
    refused x.yaml x.yaml:5:12: "'modes' is an empty list"
    sizes_file '[]'
    refused x.yaml x.yaml:4:12: "'sizes' is an empty list"
    printf 'suite: s\ncases: []\n' > x.yaml
    refused x.yaml x.yaml:2:8: "'cases' is an empty list"
    printf 'suite: s\ninclude: []\ncases: []\n' > x.yaml
    refused x.yaml x.yaml:2:10: "'include' is an empty list"
    case_file <<< '    modes:'
    refused x.yaml x.yaml:5:11: 'has no value'
}

# --- Names and words ---------------------------------------------------------

@test "names with other characters" {
    printf 'suite: My_Suite\ncases: [{name: a, sizes: 8}]\n' > x.yaml
    refused x.yaml x.yaml:1:8: "'My_Suite'" 'a to z'
    printf 'suite: s\ncases: [{name: a/b, sizes: 8}]\n' > x.yaml
    refused x.yaml x.yaml:2:16: "'a/b'" 'a to z'
    printf 'suite: s\ncases: [{name: größe, sizes: 8}]\n' > x.yaml
    refused x.yaml x.yaml:2:16: "'größe'"
    case_file <<< '    require: [Repeat]'
    refused x.yaml x.yaml:5:15: "'Repeat'" 'a to z'
    for backend in CUBLAS cublas= =x a=b=c a/b; do
        case_file <<< "    backends: $backend"
        refused x.yaml x.yaml:5:15: "'$backend'" 'name=variant'
    done
}

@test "two cases of one name" {
    case_file <<< $'  - name: two\n    sizes: 8\n  - sizes: 9\n    name: one'
    refused x.yaml x.yaml:8:11: "'one' is taken" x.yaml:3
}

@test "wrong words get the nearest one" {
    case_file <<< '    modes: [default, tf23]'
    refused x.yaml x.yaml:5:22: "no mode 'tf23'" "'tf32'?"
    case_file <<< '    families: [dens]'
    refused x.yaml x.yaml:5:16: "no family 'dens'" "'dense'?"
    case_file <<< '    entry: gemmex'
    refused x.yaml x.yaml:5:12: "no entry 'gemmex'" "'gemm-ex'?"
    case_file <<< '    schedules: [seriell]'
    refused x.yaml x.yaml:5:17: "no schedule 'seriell'" "'serial'?"
    case_file <<< '    types: [f32, fp16]'
    refused x.yaml x.yaml:5:18: fp16 f16
    case_file <<< '    ops: NN'
    refused x.yaml x.yaml:5:10: NN nn
}

@test "schedules and their numbers" {
    case_file <<< '    schedules: {serial: 8}'
    refused x.yaml x.yaml:5:25: "'serial' takes no number"
    case_file <<< '    schedules: [{serial: 1, busy: 2}]'
    refused x.yaml x.yaml:5:17: 'a schedule is one word'
}

@test "a workspace with its leading colon" {
    case_file <<< '    workspaces: ":16:8"'
    refused x.yaml x.yaml:5:17: 'without the leading colon: "16:8"'
    case_file <<< $'    workspaces:\n      - unset\n      - :4096:2:16:8'
    refused x.yaml x.yaml:7:9: 'without the leading colon: "4096:2:16:8"'
}

@test "a bare workspace with its leading colon is not YAML" {
    case_file <<< '    workspaces: [unset, :16:8]'
    refused x.yaml x.yaml:5:25: 'without the leading colon: "16:8"'
    case_file <<< $'    workspaces: ["16:8",\n      :4096:8]'
    refused x.yaml x.yaml:6:7: 'without the leading colon: "4096:8"'
}

@test "a workspace that is none" {
    case_file <<< '    workspaces: [16]'
    refused x.yaml x.yaml:5:18: "'16'"
    case_file <<< '    workspaces: [none]'
    refused x.yaml x.yaml:5:18: "'none'" unset
}

# --- Numbers -----------------------------------------------------------------

@test "sizes in anything but plain decimal" {
    for size in 1e3 0x10 007 64.0 -8 +8 00 1_000 eight '8 8' 2147483648 \
        9223372036854775808 99999999999999999999999 '"8\0"'; do
        sizes_file "[[8, $size, 8]]"
        shown="${size//\"/}"
        refused x.yaml x.yaml:4:17: "the size n is '${shown%\\0}" \
            'from 0 to 2147483647 in plain decimal'
    done
}

@test "a size that is not three numbers" {
    sizes_file '[[8, 8]]'
    refused x.yaml x.yaml:4:13: '[m, n, k]' 'here are 2'
    sizes_file '[[8, 8, 8, 8]]'
    refused x.yaml x.yaml:4:13: 'here are 4'
    sizes_file '[[8, [8], 8]]'
    refused x.yaml x.yaml:4:17: 'the size n is a single value, not a list'
}

@test "three numbers that could be a product or three squares" {
    sizes_file '[8, 8, 65536]'
    refused x.yaml x.yaml:4:12: '[[m, n, k]]'
}

@test "ranges that do not end or do not begin" {
    sizes_file '{from: 8, to: 64}'
    refused x.yaml x.yaml:4:12: "one of 'times' and 'plus'"
    sizes_file '{from: 8, to: 64, times: 2, plus: 8}'
    refused x.yaml x.yaml:4:12: "one of 'times' and 'plus'"
    sizes_file '{from: 8, to: 64, times: 1}'
    refused x.yaml x.yaml:4:37: "'times' is '1'" 'from 2'
    sizes_file '{from: 8, to: 64, plus: 0}'
    refused x.yaml x.yaml:4:36: "'plus' is '0'" 'from 1'
    sizes_file '{from: 8, to: 4, times: 2}'
    refused x.yaml x.yaml:4:26: "'to' is '4'" 'from 8'
    sizes_file '{to: 4, times: 2}'
    refused x.yaml x.yaml:4:12: "no 'from'"
}

@test "more than a million sizes" {
    sizes_file '{from: 1, to: 1000001, plus: 1}'
    refused x.yaml x.yaml:4:12: 'more than 1000000 sizes'
    all='{from: 1, to: 2147483647, plus: 1}'
    sizes_file "[[$all, $all, $all]]"
    refused x.yaml x.yaml:4:13: 'more than 1000000 sizes'
    sizes_file "[&r {from: 1, to: 600000, plus: 1}, *r]"
    refused x.yaml x.yaml:4: 'more than 1000000 sizes'
}

@test "more than four million values in a suite" {
    {
        printf 'suite: s\ncases:\n'
        for i in 1 2 3 4 5; do
            echo "  - {name: c$i, sizes: {from: 1, to: 1000000, plus: 1}}"
        done
    } > x.yaml
    refused x.yaml x.yaml:7:23: 'more than 4000000 values'
}

@test "ld, batch, repeats and seeds out of range" {
    for ld in loose tight+ tight+0 tight+08 tight-1 tight+1048577 \
        tight+99999999999999999999 8; do
        case_file <<< "    ld: $ld"
        refused x.yaml x.yaml:5:9: "an ld is '$ld'" 'tight+N'
    done
    for batch in 0 -1 1048577 two; do
        case_file <<< "    batch: $batch"
        refused x.yaml x.yaml:5:12: "'$batch'" 'from 1 to 1048576'
    done
    for repeats in 0 1000001 1e3; do
        case_file <<< "    repeats: $repeats"
        refused x.yaml x.yaml:5:14: "'$repeats'" 'from 1 to 1000000'
    done
    for seed in -1 18446744073709551616 0x1; do
        case_file <<< "    seeds: [$seed]"
        refused x.yaml x.yaml:5:13: "'$seed'" 'to 18446744073709551615'
    done
}

@test "alpha and beta that are no finite numbers" {
    for real in nan .nan inf -inf infinity 1e999 1e-999 1,5 one 1.0x; do
        case_file <<< "    alpha: $real"
        refused x.yaml x.yaml:5:12: "a factor is '$real'" finite
        case_file <<< "    beta: [1, \"$real\"]"
        refused x.yaml x.yaml:5:15: "a factor is '$real'" finite
    done
}

# --- Files -------------------------------------------------------------------

@test "not YAML" {
    printf 'suite: s\ncases: [a, b\nabout: x\n' > x.yaml
    refused x.yaml x.yaml:3: 'not YAML'
    printf 'suite: s\n\tcases: x\n' > x.yaml
    refused x.yaml x.yaml:2:1: 'not YAML' tab
    printf 'suite: *nowhere\n' > x.yaml
    refused x.yaml x.yaml:1:8: 'not YAML' alias
}

@test "an empty file, or only comments" {
    : > x.yaml
    refused x.yaml x.yaml:1:1: empty
    printf '# nothing\n' > x.yaml
    refused x.yaml x.yaml:1:1: empty
}

@test "more than one document, tags" {
    case_file <<< $'---\nsuite: t'
    refused x.yaml x.yaml:5:1: 'second document'
    printf 'suite: !!python/object s\n' > x.yaml
    refused x.yaml x.yaml:1:8: 'a tag (!)'
}

@test "a cycle of aliases" {
    sizes_file '&a [[8, 8, 8], *a]'
    refused x.yaml x.yaml:4:12: 'alias of itself'
}

@test "deeper than 32 levels, written out or by aliases" {
    sizes_file "$(printf '[%.0s' {1..40})8$(printf ']%.0s' {1..40})"
    refused x.yaml x.yaml:4: 'deeper than 32'
    {
        echo 'suite: s'
        echo 'about: &a0 [x]'
        for i in {1..40}; do echo "k$i: &a$i [*a$((i - 1))]"; done
    } > x.yaml
    refused x.yaml x.yaml: 'deeper than 32'
}

@test "hostile nesting, anchors and aliases end at once" {
    { printf 'suite: '; head -c 4000000 /dev/zero | tr '\0' '['; } > x.yaml
    SECONDS=0
    refused x.yaml x.yaml:1:39: 'deeper than 32'
    { printf 'suite:\n'; seq -f '- &a%.0f x' 100000; } > x.yaml
    refused x.yaml x.yaml:1002: '1000 anchors'
    {
        printf 'suite: s\ncases:\n  - name: a\n    sizes: &s\n'
        yes '      - 8' | head -n 200000
        seq -f '  - {name: b%.0f, sizes: *s}' 9000
    } > x.yaml
    refused x.yaml x.yaml:4:12: 'more than 4000000 values'
    [ "$SECONDS" -lt 20 ]
}

@test "a file that is not there, a folder, a fifo" {
    refused none.yaml none.yaml: 'cannot be read'
    mkdir folder
    refused folder folder: 'cannot be read' folder
    mkfifo fifo
    refused fifo fifo: 'cannot be read' 'regular file'
}

@test "a file without permission" {
    case_file < /dev/null
    chmod 000 x.yaml
    [ ! -r x.yaml ] || skip 'this user may read everything'
    refused x.yaml x.yaml: 'cannot be read'
}

@test "a file bigger than 4 MiB" {
    case_file < <(yes '# filled' | head -c 4194304)
    refused x.yaml x.yaml: 'bigger than 4 MiB'
}

@test "bytes that are no text" {
    printf 'suite: s\nabout: a\0b\n' > x.yaml
    refused x.yaml x.yaml:2:9: 'NUL byte'
    printf 'suite: s\nabout: \377\n' > x.yaml
    refused x.yaml x.yaml:2:8: 'not UTF-8'
    printf 'suite: s\nabout: ab\355\240\200\n' > x.yaml
    refused x.yaml x.yaml:2:10: 'not UTF-8'
    printf 'suite: s\nabout: \033[31m\n' > x.yaml
    refused x.yaml x.yaml:2:8: U+001B
}

@test "an error shows no escapes and cuts at 40 characters" {
    printf 'suite: "\\e[31m\\x9bred\\a"\n' > x.yaml
    refused x.yaml x.yaml:1:
    printf 'suite: s\ncases: []\n"ca\\e]0;x\\a": 1\n' > x.yaml
    refused x.yaml x.yaml:3:1: "no key 'ca?]0;x?'"
    case_file <<< '    about: "a\e[31mb"'
    refused x.yaml x.yaml:5:12: U+001B
    long=abcdefghijklmnopqrstuvwxyzabcdefghijklmn
    case_file <<< "    modes: ${long}opq"
    refused x.yaml x.yaml:5:12: "'$long...'"
}

# --- Includes ----------------------------------------------------------------

include_file() {
    mkdir -p d
    printf 'suite: s\ninclude: [%s]\ncases: [{name: a, sizes: 8}]\n' "$1" \
        > d/x.yaml
}

@test "an include that is not there, or a folder" {
    include_file none.yaml
    refused d/x.yaml d/x.yaml:2:11: "cannot include 'none.yaml'" 'No such file'
    mkdir d/sub
    include_file sub
    refused d/x.yaml d/sub: 'cannot be read'
}

@test "an include out of the folder" {
    printf 'suite: t\ncases: [{name: b, sizes: 8}]\n' > b.yaml
    include_file ../b.yaml
    refused d/x.yaml d/x.yaml:2:11: "'../b.yaml'" 'relative'
    include_file "$PWD/b.yaml"
    refused d/x.yaml d/x.yaml:2:11: 'relative'
    ln -s ../b.yaml d/link.yaml
    include_file link.yaml
    refused d/x.yaml d/x.yaml:2:11: 'out of the folder'
    mkdir d2
    cp b.yaml d2/
    ln -s ../d2 d/sub
    include_file sub/b.yaml
    refused d/x.yaml d/x.yaml:2:11: 'out of the folder'
}

@test "includes in a circle" {
    include_file x.yaml
    refused d/x.yaml d/x.yaml:2:11: circle
    include_file y.yaml
    printf 'suite: t\ninclude: [x.yaml]\ncases: [{name: b, sizes: 8}]\n' \
        > d/y.yaml
    refused d/x.yaml d/y.yaml:2:11: circle
}

@test "an error in an included file names that file" {
    include_file y.yaml
    printf 'suite: t\ncases: [{name: b, size: 8}]\n' > d/y.yaml
    refused d/x.yaml d/y.yaml:2:19: "no key 'size'" "'sizes'?"
    printf 'suite: t\ncases: [{name: a, sizes: 8}]\n' > d/y.yaml
    refused d/x.yaml d/x.yaml:3:16: "'a' is taken" d/y.yaml:2
}
