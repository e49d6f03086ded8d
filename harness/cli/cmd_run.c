#include <stdio.h>

#include "harness/cli/cli.h"

int gp_cmd_run(const struct gp_cli *cli, int argc, char **argv)
{
    struct gp_session session = {0};
    struct gp_opt options[GP_SESSION_OPTIONS];
    struct gp_err err;
    int status;

    if (gp_session_parse(&session, argc, argv, &err) != 0) {
        status = gp_cli_usage(&err);
    } else if (session.help) {
        gp_session_options(&session, options);
        status = gp_cli_help("run", options);
    } else if (gp_session_plan(&session, &err) != 0) {
        status = gp_cli_usage(&err);
    } else {
        status = gp_session_run(&session, cli, NULL);
    }
    gp_session_free(&session);
    return status;
}
