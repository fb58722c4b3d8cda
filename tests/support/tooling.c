/* Runs tools, and keeps the text that they print. */
#include "tooling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

#define LINE_MS 60000
#define WORDS 32

static const char *contents(const char *path) {
    static char *text;
    static size_t room;
    FILE *f = fopen(path, "r");
    size_t size = 0, got;

    do {
        if (room - size < 2)
            text = xrealloc(text, room = 2 * room + 20000);
        got = f == NULL ? 0 : fread(text + size, 1, room - size - 1, f);
        size += got;
    } while (got > 0);
    text[size] = '\0';
    if (f != NULL)
        fclose(f);
    return text;
}

/* Text on the input needs a shell. */
static pid_t start_tool(const char *const *argv, const char *log, const char *input) {
    static const char script[] = "file=$1; shift; exec \"$@\" < \"$file\"";
    const char *shell[WORDS + 6] = { "sh", "-c", script, "sh" };
    char path[PATH_SIZE];
    FILE *f;

    if (input == NULL)
        return spawn(&(struct spawn){ .argv = argv, .log = log });
    path_join(path, "%s/line.in", scratch_dir());
    f = fopen(path, "w");
    assert_non_null(f);
    fputs(input, f);
    fclose(f);
    shell[4] = path;
    for (size_t i = 0; argv[i] != NULL; i++)
        shell[5 + i] = argv[i];
    return spawn(&(struct spawn){ .argv = shell, .log = log });
}

int tooling_run_words(const char **out, const char *const *words, const char *input) {
    const char *argv[WORDS + 1] = { server_program() };
    char path[PATH_SIZE];
    int status;

    for (size_t i = 0; words[i] != NULL; i++) {
        assert_true(i + 1 < WORDS);
        argv[i + 1] = words[i];
    }
    path_join(path, "%s/line.out", scratch_dir());
    unlink(path);
    status = wait_exit(start_tool(argv, path, input), patience(LINE_MS));
    *out = contents(path);
    return status;
}

int tooling_vrun(const char **out, const char *tool, va_list words) {
    const char *all[WORDS] = { tool };
    size_t n = 1;

    while (n < WORDS - 1 && (all[n] = va_arg(words, const char *)) != NULL)
        n++;
    return tooling_run_words(out, all, NULL);
}

int tooling_run(const char **out, const char *tool, ...) {
    va_list words;
    int status;

    va_start(words, tool);
    status = tooling_vrun(out, tool, words);
    va_end(words);
    return status;
}

void tooling_says(const char *out, const char *text) {
    if (strstr(out, text) == NULL)
        fail_msg("\"%s\" is not in: %s", text, out);
}

const char *tooling_must(int status, const char *says, const char *const *words) {
    const char *out;
    int got = tooling_run_words(&out, words, NULL);

    if (got != status)
        fail_msg("%s: exit status %d, and not %d: %s", words[0], got, status, out);
    tooling_says(out, says);
    return out;
}
