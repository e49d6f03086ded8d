#!/usr/bin/env bash
# The layers of the tree: a file includes its own layer and what
# the table below lists, nothing else. Prints FILE:LINE: the rule.
set -eu
cd "$(dirname "$0")/.."

# shellcheck disable=SC2016 # the $0 are awk's
find harness reference reports tests -name '*.[ch]' -o -name '*.cu' |
    sort | xargs awk '
# The layer that a path stands in, "" for none.
function layer(path) {
    if (path ~ /^harness\/model[^\/]*$/)
        return "harness/model"
    if (path ~ /^(reference|reports|tests)\//)
        return substr(path, 1, index(path, "/") - 1)
    if (match(path, /^harness\/(base|check|worker|engine|cli)\//))
        return substr(path, 1, RLENGTH - 1)
    return ""
}

function wrong(rule) {
    printf "%s:%d: %s\n", FILENAME, FNR, rule
    problems++
}

# A header of a library belongs to the files of `where` alone.
function only(header, names, where) {
    if (header ~ names && FILENAME !~ where)
        wrong("<" header "> belongs to " words[where])
}

BEGIN {
    may["harness/base"] = " "
    may["reference"] = " harness/base "
    may["harness/model"] = " harness/base reference "
    may["harness/check"] = may["harness/model"] "harness/model "
    may["reports"] = may["harness/check"]
    may["harness/worker"] = may["harness/model"]
    may["harness/engine"] = may["harness/check"] "harness/check harness/worker "
    may["harness/cli"] = may["harness/engine"] "harness/engine reports "
    may["tests"] = may["harness/cli"]

    json = "^harness/base/json[.]h$"
    yaml = "^harness/engine/load[^/]*[.]c$"
    cblas = "^(reference/(refgemm|slices|trial)|harness/worker/backends/openblas|" \
        "tests/(bench/bench|unit/certificate))[.]c$"
    cuda = "^harness/worker/backends/cu[^/]*$"
    criterion = "^tests/unit/"
    words[json] = "harness/base/json.h"
    words[yaml] = "harness/engine/load*.c"
    words[cblas] = "reference/refgemm.c, slices.c and trial.c, " \
        "harness/worker/backends/openblas.c, " \
        "tests/bench/bench.c and tests/unit/certificate.c"
    words[cuda] = "harness/worker/backends/cu*"
    words[criterion] = "tests/unit"
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, part, "\"")
    from = layer(FILENAME)
    to = layer(part[2])
    if (from == "")
        wrong("this file is in no layer")
    else if (to == "")
        wrong("\"" part[2] "\" is not written from the root, or is in no layer")
    else if (from != to && index(may[from], " " to " ") == 0)
        wrong(from " may not include " to)
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    header = $0
    sub(/^[^<]*</, "", header)
    sub(/>.*/, "", header)
    only(header, "^jansson", json)
    only(header, "^yaml[.]h$", yaml)
    only(header, "^cblas", cblas)
    only(header, "^(cuda|cublas|driver_types|vector_types)", cuda)
    only(header, "^criterion/", criterion)
}

END {
    exit problems > 0
}'
