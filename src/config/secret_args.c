/* Hides the secrets of the command line from other users. */
#include "config/secret_args.h"

#include <string.h>
#include "base/util.h"
#include "config/config.h"

static void hide(char *from, size_t len) {
    memset(from, '*', len);
}

/* Is it --name or --name=value of a secret option? *value is the value behind =, or NULL. */
static bool is_secret_option(char *arg, char **value) {
    const struct config_option *o;
    size_t len;

    *value = NULL;
    if (strncmp(arg, "--", 2) != 0)
        return false;
    len = strcspn(arg + 2, "=");
    o = config_find((struct slice){ .ptr = arg + 2, .len = len });
    if (arg[2 + len] == '=')
        *value = arg + 2 + len + 1;
    return o != NULL && (o->flags & OPT_SECRET) != 0;
}

/* The password may contain an @, so the last one counts. */
static void hide_in_address(char *arg) {
    char *from = strstr(arg, "://"), *to = strrchr(arg, '@');

    if (from != NULL && to != NULL && to > from + 3)
        hide(from + 3, (size_t)(to - from) - 3);
}

char **secret_args_take(int argc, char **argv) {
    static char **copy;    /* lives as long as the process */
    bool is_value = false; /* the arguments up to the next option are values of a secret option */

    copy = xcalloc((size_t)argc + 1, sizeof *copy);
    for (int i = 0; i < argc; i++) {
        char *value;

        copy[i] = xstrdup(argv[i]);
        if (strncmp(argv[i], "--", 2) == 0) {
            is_value = is_secret_option(argv[i], &value);
            if (is_value && value != NULL)
                hide(value, strlen(value));
        } else if (is_value) {
            hide(argv[i], strlen(argv[i]));
        }
        hide_in_address(argv[i]);
    }
    return copy;
}
