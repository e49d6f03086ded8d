#!/usr/bin/env bash
# What can be said of the sources without running them. Prints FILE:LINE: the
# problem; exits 1 if there is one.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 2
jobs=$(nproc)
CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}

# Ours by use: words that are banned because a better one is always there.
banned='gets|sprintf|vsprintf|strcat|strtok|setlocale|system|popen|atoi|atof'
lines_of_file=500
lines_of_function=60

for tool in gcc clang shellcheck awk; do
    if ! command -v "$tool" >/dev/null; then
        echo "ci/lint.sh: there is no $tool here: make setup installs it"
        exit 1
    fi
done

# Everything that is, or will be, in the repository.
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    mapfile -t files < <(git ls-files -co --exclude-standard |
        while read -r file; do [ -f "$file" ] && echo "$file"; done | sort -u)
else
    mapfile -t files < <(find . -path ./build -prune -o -path ./out -prune -o \
        -type f -print | sed 's|^\./||' | sort)
fi
sources=() headers=() scripts=()
for file in "${files[@]}"; do
    case "$file" in
    *.c | *.cu) sources+=("$file") ;;
    *.h) sources+=("$file") headers+=("$file") ;;
    *.sh | *.bats | .ci/run) scripts+=("$file") ;;
    esac
done

layout() {
    local tool=clang-format-14
    command -v "$tool" >/dev/null || tool=clang-format
    if ! "$tool" --version 2>/dev/null | grep -q 'version 14\.'; then
        echo "skipped: the layout, which needs clang-format 14" >&2
        return 0
    fi
    printf '%s\0' "${sources[@]}" |
        xargs -0 "$tool" --dry-run -Werror 2>&1 |
        sed -n 's/^\([^: ]*:[0-9]*\):[0-9]*: error: .*/\1/p' |
        sort -t: -k1,1 -k2,2n | sort -s -u -t: -k1,1 |
        sed "s/\$/: not as $tool -i writes it, from this line on/"
}

# A header compiles by itself and twice, and nothing in it warns.
header_alone() {
    local compiler=$1 header=$2 output
    output=$(printf '#include "%s"\n#include "%s"\nextern int gp_lint;\n' \
        "$header" "$header" |
        "$compiler" -x c -std=c11 -I. -D_POSIX_C_SOURCE=200809L \
            -isystem "$CUDA_HOME/include" -Wall -Wextra -Wpedantic -Wshadow \
            -Wundef -Werror -fsyntax-only - 2>&1) && return 0
    printf '%s\n' "$output" | grep -m 1 'error:' |
        sed "s|^<stdin>:|$header:1:|; s|^\./||; s|\$| ($compiler, the header alone)|"
}
export -f header_alone
export CUDA_HOME

headers_alone() {
    local chosen=("${headers[@]}")
    if [ ! -e "$CUDA_HOME/include/cuda_runtime_api.h" ]; then
        mapfile -t chosen < <(printf '%s\n' "${headers[@]}" |
            grep -v '^harness/worker/backends/cu')
        echo "skipped: the headers of the cublas worker, which need the" \
            "headers of CUDA" >&2
    fi
    # shellcheck disable=SC2016 # they are the inner shell's $1 and $2
    for compiler in gcc clang; do
        printf '%s\0' "${chosen[@]}" | xargs -0 -P "$jobs" -I {} \
            bash -c 'header_alone "$1" "$2"' - "$compiler" {}
    done
}

# A function's body is what stands between { and } in the first column.
lengths() {
    awk -v most="$lines_of_file" -v body="$lines_of_function" '
        FNR == 1 && FILENAME != file { file_ends(); file = FILENAME }
        { lines = FNR }
        /^[a-zA-Z_].*\(/ { name = $0; sub(/\(.*/, "", name)
                           sub(/.*[ *]/, "", name) }
        /^\{$/ { from = FNR }
        /^\}/ && from {
            if (FNR - from - 1 > body)
                printf "%s:%d: %s has %d lines, the most is %d\n", FILENAME,
                    from, name, FNR - from - 1, body
            from = 0
        }
        END { file_ends() }
        function file_ends() {
            if (file != "" && lines > most)
                printf "%s:%d: the file has %d lines, the most is %d\n", file,
                    lines, lines, most
        }' "${sources[@]}"
}

words() {
    grep -nEH "(^|[^A-Za-z0-9_.>])($banned)\(" "${sources[@]}" |
        sed -E "s/^([^:]*:[0-9]*):.*[^A-Za-z0-9_]?\b($banned)\(.*/\1: \2() is banned/"
    # What only makes sense on the machine it was written on, or later.
    grep -nIHE '(^|[^A-Za-z0-9_.~*-])/(wor[k]|roo[t])(/|[^A-Za-z0-9_/]|$)' \
        "${files[@]}" | sed -E 's/^([^:]*:[0-9]*):.*/\1: a path of one machine/'
    grep -nIHE '\b(TOD[O]|FIXM[E]|XX[X])\b' "${files[@]}" |
        sed -E 's/^([^:]*:[0-9]*):.*/\1: work left for later/'
}

# In bats a failed cd ends the test, and each test is a subshell.
shell_scripts() {
    shellcheck -f gcc -e SC2164,SC2030,SC2031,SC2154 "${scripts[@]}" | sed -E 's/^([^:]*:[0-9]+):[0-9]+:/\1:/'
}

problems=$(
    ci/layers.sh
    layout
    headers_alone
    lengths
    words
    shell_scripts
)
if [ -n "$problems" ]; then
    printf '%s\n' "$problems"
    echo "lint: $(printf '%s\n' "$problems" | wc -l) problems"
    exit 1
fi
echo "lint: ${#sources[@]} sources and ${#scripts[@]} scripts without a problem"
