/* The table of tools, and their --help. */
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

#include "base/spelling.h"

static const struct tool *const tools[] = {
#define TOOL(name) &tool_##name,
#include "tools/tools.def"
#undef TOOL
};

const struct tool *const *tools_all(size_t *count) {
    *count = LENGTH(tools);
    return tools;
}

const struct tool *tool_named(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < LENGTH(tools); i++) {
        if (strcmp(tools[i]->name, argv[1]) == 0)
            return tools[i];
    }
    return NULL;
}

/* Counts the tools that begin with the word. */
static size_t tools_beginning(const char *word, struct slice *one) {
    size_t count = 0;

    for (size_t i = 0; i < LENGTH(tools); i++) {
        if (strncmp(tools[i]->name, word, strlen(word)) != 0)
            continue;
        *one = slice_str(tools[i]->name);
        count++;
    }
    return count;
}

struct slice tool_nearest(const char *word) {
    struct spelling s;

    spelling_init(&s, slice_str(word));
    for (size_t i = 0; i < LENGTH(tools); i++)
        spelling_offer(&s, slice_str(tools[i]->name));
    if (s.nearest.len == 0 && strlen(word) > 1 && tools_beginning(word, &s.nearest) != 1)
        s.nearest = (struct slice){ NULL, 0 };
    return s.nearest;
}

static void append_paragraphs(struct buf *out, const char *text) {
    for (const char *end; *text != '\0'; text = end + strspn(end, "\n")) {
        char *paragraph;

        end = strstr(text, "\n\n");
        end = end == NULL ? text + strlen(text) : end;
        paragraph = slice_dup((struct slice){ text, (size_t)(end - text) });
        buf_append_str(out, "\n");
        line_wrap(out, paragraph, 0);
        buf_append_str(out, "\n");
        free(paragraph);
    }
}

static void tool_help(const struct tool *tool) {
    struct buf out = { 0 };

    buf_printf(&out, "usage: pgdisque %s %s\n\n", tool->name, tool->arguments);
    line_wrap(&out, tool->summary, 0);
    buf_append_str(&out, "\n");
    append_paragraphs(&out, tool->text);
    if (tool->option_count > 0)
        buf_append_str(&out, "\n");
    line_options_help(tool->options, tool->option_count, &out);
    if (tool->has_config)
        buf_append_str(&out, "\nThe options of the server are those of `pgdisque --help`.\n");
    buf_append_str(&out, "\nexit status:\n");
    for (const struct tool_status *s = tool->statuses; s->meaning != NULL; s++)
        buf_printf(&out, "  %d  %s\n", s->status, s->meaning);
    buf_printf(&out, "\nexample:\n  %s\n", tool->example);
    fwrite(buf_ptr(&out), 1, buf_len(&out), stdout);
    buf_free(&out);
}

void tools_help(void) {
    struct buf out = { 0 };

    buf_append_str(
        &out,
        "Usage: pgdisque [conf-file] [--option value]...           serve\n"
        "       pgdisque [conf-file] [--option value]... --check   test the configuration and the database\n"
        "       pgdisque tool [argument]...                        run a tool; tool --help describes it\n"
        "       pgdisque --help | --version\n"
        "\n"
        "Tools:\n");
    for (size_t i = 0; i < LENGTH(tools); i++) {
        buf_printf(&out, "  %-12s", tools[i]->name);
        line_wrap(&out, tools[i]->summary, 14);
        buf_append_str(&out, "\n");
    }
    buf_append_str(&out, "\nOptions of the server, with their defaults. Options of the command line override "
                         "those of the file.\n");
    fwrite(buf_ptr(&out), 1, buf_len(&out), stdout);
    buf_free(&out);
    config_help(stdout);
}

static bool asks_for_help(int argc, char **argv) {
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

int tool_run(const struct tool *tool, int argc, char **argv) {
    if (!asks_for_help(argc, argv))
        return tool->run(tool, argc, argv);
    tool_help(tool);
    return 0;
}
