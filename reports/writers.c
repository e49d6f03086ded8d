#include "reports/writer.h"

#include <string.h>

const struct gp_writer gp_writers[] = {
    {"text", NULL, "tables for a terminal", gp_writer_text},
    {"markdown", "report.md", "for people, and for the summary of a CI step",
     gp_writer_markdown},
    {"json", "report.json", "everything, for programs", gp_writer_json},
    {"junit", "junit.xml", "for the test view of CI systems", gp_writer_junit},
    {NULL, NULL, NULL, NULL},
};

const struct gp_writer *gp_writer_find(const char *name)
{
    for (const struct gp_writer *row = gp_writers; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}
