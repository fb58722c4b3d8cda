/* The tool completion: prints a script that completes the command line in bash, zsh or fish. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

struct completion_line_words {
    struct line_list names;
};

/* The subject of a table of completions: the options of the server, or those of a tool. */
struct choice {
    const char *name; /* with its -- */
    const char *doc;
    struct buf words; /* allowed values, with blanks between them; empty: any value */
    bool has_value, is_file, is_directory;
};

/* Calls fn for each option. tool NULL: the options of the server. */
typedef void with_choice(const struct tool *tool, const struct choice *c);

/* ---- tables ---- */

static void choices_of_server(const struct tool *tool, with_choice *fn) {
    size_t count;
    const struct config_option *options = config_options(&count);

    for (size_t i = 0; i < count; i++) {
        struct choice c = { .doc = options[i].doc, .has_value = true };
        char *name = xasprintf("--%s", options[i].name);

        c.name = name;
        for (const struct config_name *n = options[i].names; n != NULL && n->name != NULL; n++)
            buf_printf(&c.words, "%s%s", n == options[i].names ? "" : " ", n->name);
        buf_append(&c.words, "", 1);
        c.is_file = strstr(name, "file") != NULL;
        c.is_directory = strcmp(name, "--dir") == 0;
        fn(tool, &c);
        buf_free(&c.words);
        free(name);
    }
}

static void choices_of_tool(const struct tool *tool, with_choice *fn) {
    for (size_t i = 0; i < tool->option_count; i++) {
        const struct line_option *o = &tool->options[i];
        struct choice c = { .name = o->name, .doc = o->doc, .has_value = o->type != LINE_FLAG };
        struct slice rest = slice_str(o->type == LINE_WORD ? o->value : ""), word;

        for (bool first = true; slice_next_word(&rest, "|", &word); first = false)
            buf_printf(&c.words, "%s%.*s", first ? "" : " ", (int)word.len, word.ptr);
        buf_append(&c.words, "", 1);
        c.is_file = c.has_value && strcmp(o->value, "file") == 0;
        c.is_directory = c.has_value && strcmp(o->value, "directory") == 0;
        fn(tool, &c);
        buf_free(&c.words);
    }
    if (tool->has_config)
        choices_of_server(tool, fn);
}

static void print_tools(void) {
    size_t count;
    const struct tool *const *all = tools_all(&count);

    for (size_t i = 0; i < count; i++)
        printf("%s%s", i == 0 ? "" : " ", all[i]->name);
}

/* ---- bash ---- */

static void bash_value(const struct tool *tool, const struct choice *c) {
    (void)tool;
    if (!c->has_value)
        return;
    printf("        %s) ", c->name);
    if (c->is_directory)
        printf("COMPREPLY=($(compgen -d -- \"$cur\"))");
    else if (c->is_file)
        printf("COMPREPLY=($(compgen -f -- \"$cur\"))");
    else
        printf("COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", buf_ptr(&c->words));
    printf("; return ;;\n");
}

static void bash_name(const struct tool *tool, const struct choice *c) {
    (void)tool;
    printf(" %s", c->name);
}

static void bash_case(const struct tool *tool, const char *pattern,
                      void (*each)(const struct tool *, with_choice *)) {
    printf("    %s)\n        case $prev in\n", pattern);
    each(tool, bash_value);
    printf("        esac\n        words='--help");
    each(tool, bash_name);
    printf("' ;;\n");
}

static void bash_print(void) {
    size_t count;
    const struct tool *const *all = tools_all(&count);

    printf("# bash completion of pgdisque: source it, or put it into a directory of bash-completion\n"
           "_pgdisque() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words\n"
           "    COMPREPLY=()\n"
           "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < count; i++)
        bash_case(all[i], all[i]->name, choices_of_tool);
    bash_case(NULL, "*", choices_of_server);
    printf("    esac\n"
           "    case ${COMP_WORDS[1]} in completion) words+=' bash zsh fish' ;; man) words+=' 1 5' ;; esac\n"
           "    [ \"$COMP_CWORD\" -gt 1 ] || words='");
    print_tools();
    printf("'\" --check --version $words\"\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
           "    [ -n \"${COMPREPLY[*]}\" ] || COMPREPLY=($(compgen -f -- \"$cur\"))\n"
           "}\n"
           "complete -F _pgdisque pgdisque\n");
}

/* ---- zsh ---- */

/* Prints a text inside '...' of a specification, in which : [ and ] have a meaning. */
static void zsh_text(const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            printf("'\\''");
        else if (strchr(":[]\\", *text) != NULL)
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_option(const struct tool *tool, const struct choice *c) {
    (void)tool;
    printf("            '%s[", c->name);
    zsh_text(c->doc);
    printf("]");
    if (c->is_directory)
        printf(":directory:_files -/");
    else if (c->is_file)
        printf(":file:_files");
    else if (c->has_value)
        printf(":value:(%s)", buf_ptr(&c->words));
    printf("' \\\n");
}

static void zsh_print(void) {
    size_t count;
    const struct tool *const *all = tools_all(&count);

    printf("#compdef pgdisque\n"
           "# zsh completion of pgdisque: put it as _pgdisque into a directory of $fpath\n"
           "_pgdisque() {\n"
           "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
           "        local -a tools=(\n");
    for (size_t i = 0; i < count; i++) {
        printf("            '%s:", all[i]->name);
        zsh_text(all[i]->summary);
        printf("'\n");
    }
    printf("        )\n        _describe tool tools\n        _files\n        return\n    fi\n"
           "    case $words[2] in\n");
    for (size_t i = 0; i < count; i++) {
        printf("    %s)\n        _arguments \\\n", all[i]->name);
        choices_of_tool(all[i], zsh_option);
        if (all[i] == &tool_completion)
            printf("            '1:tool:' '2:shell:(bash zsh fish)' ;;\n");
        else
            printf("            '--help[describe the tool]' '*:argument:_files' ;;\n");
    }
    printf("    *)\n        _arguments \\\n");
    choices_of_server(NULL, zsh_option);
    printf(
        "            '--check[test the configuration]' '--version' '--help' '*:file:_files' ;;\n    esac\n}\n"
        "if [ \"$funcstack[1]\" = _pgdisque ]; then _pgdisque \"$@\"; else compdef _pgdisque pgdisque; fi\n");
}

/* ---- fish ---- */

static void fish_text(const char *text) {
    putchar('\'');
    for (; *text != '\0'; text++)
        printf(strchr("'\\", *text) != NULL ? "\\%c" : "%c", *text);
    putchar('\'');
}

static void fish_option(const struct tool *tool, const struct choice *c) {
    bool is_short = c->name[1] != '-';

    if (tool != NULL)
        printf("complete -c pgdisque -n '__fish_seen_subcommand_from %s' -%c %s", tool->name,
               is_short ? 's' : 'l', c->name + (is_short ? 1 : 2));
    else
        printf("complete -c pgdisque -n 'not __fish_seen_subcommand_from $__pgdisque_tools' -l %s",
               c->name + 2);
    if (c->has_value)
        printf(" -r");
    if (c->has_value && !c->is_file && !c->is_directory)
        printf(" -f -a '%s'", buf_ptr(&c->words));
    printf(" -d ");
    fish_text(c->doc);
    printf("\n");
}

static void fish_print(void) {
    size_t count;
    const struct tool *const *all = tools_all(&count);

    printf("# fish completion of pgdisque: put it as pgdisque.fish into a directory of $fish_complete_path\n"
           "set -g __pgdisque_tools ");
    print_tools();
    printf("\n");
    for (size_t i = 0; i < count; i++) {
        printf("complete -c pgdisque -n __fish_use_subcommand -a %s -d ", all[i]->name);
        fish_text(all[i]->summary);
        printf("\n");
        choices_of_tool(all[i], fish_option);
    }
    printf("complete -c pgdisque -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n"
           "complete -c pgdisque -l check\ncomplete -c pgdisque -l help\ncomplete -c pgdisque -l version\n");
    choices_of_server(NULL, fish_option);
}

/* ---- the run ---- */

static bool completion_print(const char *shell) {
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = { { "bash", bash_print }, { "zsh", zsh_print }, { "fish", fish_print } };

    for (size_t i = 0; i < LENGTH(shells); i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print();
            return fflush(stdout) == 0 || line_refuse("completion", "cannot write the output", "");
        }
    }
    return line_refuse("completion", "the shells are bash, zsh and fish", shell);
}

static int completion_line(const struct tool *tool, int argc, char **argv) {
    struct completion_line_words w = { 0 };
    bool good = line_options_read(tool, argc, argv, &w, &w.names);

    if (good && w.names.count != 1)
        good = line_refuse(tool->name, "exactly one shell must be named: bash, zsh or fish", "");
    good = good && completion_print(w.names.items[0]);
    line_list_free(&w.names);
    return good ? 0 : tool->error;
}

const struct tool tool_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "Prints a script that completes the command line in a shell.",
    .text = "`make install` puts the scripts of all three shells to their places.",
    .example = "source <(pgdisque completion bash)",
    .error = 1,
    TOOL_STATUSES({ 0, "the script is printed" }, { 1, "an argument is wrong" }),
    .run = completion_line,
};
