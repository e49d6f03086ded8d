/*
 * Journals written by hand, for tests of what reads them.
 */
#ifndef GP_TESTS_JOURNAL_H
#define GP_TESTS_JOURNAL_H

#include "reports/summary.h"
#include "tests/unit/folder.h"

/* A head that plans so many runs. */
#define JOURNAL_HEAD(runs)                                                     \
    "{\"record\":\"head\",\"format\":1,\"gemmproof\":\"0\","                   \
    "\"commit\":\"abc\",\"suite\":\"s\",\"command\":[\"gemmproof\"],"          \
    "\"nvidia_device\":false,\"reference\":{\"library\":"                      \
    "\"OpenBLAS 0.3.21 NO_LAPACKE\",\"kernel\":\"Haswell\",\"threads\":2},"    \
    "\"planned\":{\"problems\":1,\"runs\":" runs ",\"not_applicable\":0}}\n"

/* A worker with this number, backend and device. */
#define JOURNAL_WORKER(number, backend, device)                                \
    "{\"record\":\"worker\",\"worker\":" number                                \
    ",\"start\":1,\"backend\":\"" backend                                      \
    "\",\"workspace\":\"unset\",\"environment\":{},"                           \
    "\"library\":{\"name\":\"libtest\",\"version\":\"9.1\"},"                  \
    "\"device\":{" device "}}\n"
#define JOURNAL_CPU "\"name\":\"CPU\",\"compute_capability\":0"
#define JOURNAL_GPU                                                            \
    "\"name\":\"NVIDIA H200\",\"compute_capability\":90,\"driver\":\"580.1\"," \
    "\"multiprocessors\":132"

/* A run with this id, backend, type and worker, and more keys. */
#define JOURNAL_RUN(id, backend, type, worker, more)                           \
    "{\"record\":\"run\",\"id\":\"" id "\",\"case\":\"c\","                    \
    "\"source\":\"x.yaml:3\",\"problem\":\"p\",\"type\":\"" type "\","         \
    "\"backend\":\"" backend "\",\"entry\":\"gemm\",\"mode\":\"default\","     \
    "\"workspace\":\"unset\",\"schedule\":\"serial\",\"repeats\":10,"          \
    "\"fault\":\"\",\"worker\":" worker ",\"sequence\":0," more "}\n"
#define JOURNAL_PASS "\"verdict\":\"pass\",\"flags\":[],\"findings\":[]"
#define JOURNAL_FAIL                                                           \
    "\"verdict\":\"fail\",\"flags\":[],\"findings\":[{\"check\":\"bound\","    \
    "\"verdict\":\"fail\",\"flags\":[],\"value\":7.5,\"limit\":1,"             \
    "\"where\":{\"i\":4,\"j\":2,\"batch\":0,\"repeat\":3},"                    \
    "\"evidence\":\"proved\",\"text\":\"far off\"}]"
#define JOURNAL_SKIP(reason)                                                   \
    "\"verdict\":\"skip\",\"flags\":[],\"reason\":\"" reason "\""
#define JOURNAL_ERROR                                                          \
    "\"verdict\":\"error\",\"flags\":[],\"error\":{\"kind\":\"crash\","        \
    "\"text\":\"the worker was ended by signal 9\"}"

#define JOURNAL_RELATION(flags, verdict)                                       \
    "{\"record\":\"relation\",\"relation\":\"workspace\",\"verdict\":"         \
    "\"" verdict "\",\"flags\":[" flags "],\"members\":[\"one\",\"two\"],"     \
    "\"classes\":[[0],[1]],\"text\":\"the workspace changes the bits\"}\n"
#define JOURNAL_END                                                            \
    "{\"record\":\"end\",\"counts\":{},\"exit\":0,"                            \
    "\"finished\":{\"time\":\"2026-01-01T00:00:00Z\",\"seconds\":1}}\n"

/* Read a journal of these lines; the status. */
static inline int journal_read(const char *lines, struct gp_summary *summary,
                               struct gp_err *err)
{
    struct folder folder;
    int status;

    folder_make(&folder);
    status = gp_summary_read(
        folder_write(&folder, "results.jsonl", lines, 0644), summary, err);
    folder_remove(&folder);
    return status;
}

#endif
