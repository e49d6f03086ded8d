#include "harness/cli/cli.h"

static int carry_out(struct gp_session *session, const struct gp_cli *cli)
{
    return gp_session_run(session, cli, NULL);
}

int gp_cmd_run(const struct gp_cli *cli, int argc, char **argv)
{
    return gp_session_command(cli, "run", argc, argv, gp_session_plan,
                              carry_out);
}
