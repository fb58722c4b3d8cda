/* Plays the transcripts of all commands and says which cases passed. */
#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "play.h"
#include "postgres.h"
#include "process.h"
#include "server_process.h"
#include "transcript.h"
#include "wait.h"

#define DEFAULT_JOBS 4

static const char *const commands[] = {
#define CMD(id, name, ...) name,
#include "commands/commands.def"
#undef CMD
};

struct options {
    const char *dir;
    char *target; /* "host:port"; NULL: servers of our own */
    int jobs;
    char **filters;
    int filter_count;
};

/* Shared by the workers. */
struct totals {
    atomic_int next;
    atomic_int passed;
    atomic_int failed;
    atomic_int skipped;
};

static struct totals *totals;

static bool wanted(const struct options *o, const char *name) {
    for (int i = 0; i < o->filter_count; i++)
        if (strcmp(o->filters[i], name) == 0)
            return true;
    return o->filter_count == 0;
}

static void report(const struct transcript *t, const struct test_case *c, bool ok, int64_t ms,
                   const char *err) {
    int n = atomic_fetch_add(ok ? &totals->passed : &totals->failed, 1);

    (void)n;
    printf("%s %s: %s (%ld ms)\n", ok ? "ok" : "not ok", t->name, c->title, (long)ms);
    if (!ok)
        printf("#   %s %s\n", t->path, err);
}

static void play_transcript(struct transcript *t, const struct stage *stage) {
    for (size_t i = 0; i < t->count; i++) {
        char err[1500] = "";
        int64_t start = now_ms();
        bool ok = play_case(stage, &t->cases[i], err, sizeof(err));

        report(t, &t->cases[i], ok, now_ms() - start, err);
        if (stage->own && !server_running(stage->own)) {
            printf("#   the server died in this case\n");
            server_resume(stage->own);
        }
    }
}

/* A transcript with options plays on a server of its own. */
static void play_file(const char *path, struct stage *stage, struct postgres *pg) {
    struct transcript t;

    transcript_load(&t, path);
    if (!t.option_count) {
        play_transcript(&t, stage);
    } else if (!pg) {
        atomic_fetch_add(&totals->skipped, (int)t.count);
    } else {
        struct server own;
        struct stage own_stage = { .host = "127.0.0.1", .own = &own };

        server_start(&own, postgres_migrated(pg), (const char *const *)t.options);
        own_stage.port = own.port;
        play_transcript(&t, &own_stage);
        server_stop(&own);
    }
    transcript_free(&t);
}

static void play_shared(const struct options *o, const glob_t *files, struct stage *stage,
                        struct postgres *pg) {
    for (;;) {
        size_t i = (size_t)atomic_fetch_add(&totals->next, 1);
        char name[64];
        const char *base;

        if (i >= files->gl_pathc)
            return;
        base = strrchr(files->gl_pathv[i], '/') + 1;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(base, "."), base);
        if (wanted(o, name))
            play_file(files->gl_pathv[i], stage, pg);
    }
}

/* A worker has its own server and database, so that a case that waits does not delay others. */
_Noreturn static void work(const struct options *o, const glob_t *files, struct postgres *pg, int number) {
    struct server s;
    struct stage stage = { .host = "127.0.0.1", .own = &s };
    int failed_before, status;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pg->databases = number * 1000;
    server_start(&s, postgres_migrated(pg), NULL);
    stage.port = s.port;
    failed_before = atomic_load(&totals->failed);
    play_shared(o, files, &stage, pg);
    status = server_stop(&s);
    if (status != 0 || servers_complained()) {
        printf("not ok worker %d: a server ended with status %d, or complained\n", number, status);
        atomic_fetch_add(&totals->failed, 1);
    }
    if (atomic_load(&totals->failed) > failed_before && getenv("PGDISQUE_TEST_LOGS"))
        servers_show_logs();
    fflush(stdout);
    exit(0);
}

static void run_workers(const struct options *o, const glob_t *files) {
    struct postgres pg = { 0 };
    int jobs = o->filter_count && o->filter_count < o->jobs ? o->filter_count : o->jobs;

    postgres_start(&pg);
    fflush(stdout);
    for (int i = 1; i <= jobs; i++) {
        pid_t pid = fork();

        if (pid == 0)
            work(o, files, &pg, i);
        if (pid < 0)
            die("fork: %s", strerror(errno));
    }
    for (int i = 0; i < jobs; i++) {
        int status;

        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            printf("not ok a worker ended early\n");
            atomic_fetch_add(&totals->failed, 1);
        }
    }
    postgres_stop(&pg, true);
}

static void run_target(const struct options *o, const glob_t *files) {
    char *colon = strrchr(o->target, ':');
    struct stage stage = { .host = o->target };

    if (!colon)
        die("--target host:port");
    *colon = '\0';
    stage.port = atoi(colon + 1);
    play_shared(o, files, &stage, NULL);
}

/* Every row of the command table has its transcript, with a case in it. */
static void check_coverage(const struct options *o) {
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char path[PATH_SIZE];

        path_join(path, "%s/%s.txt", o->dir, commands[i]);
        if (!wanted(o, commands[i]) || (access(path, R_OK) == 0 && file_contains(path, "== ")))
            continue;
        printf("not ok %s: has no transcript\n", commands[i]);
        atomic_fetch_add(&totals->failed, 1);
    }
}

static const char *default_dir(void) {
    static char path[PATH_SIZE];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    char *build;

    if (access("tests/conformance", F_OK) == 0)
        return "tests/conformance";
    path[len > 0 ? len : 0] = '\0';
    build = strstr(path, "/build/");
    if (build && (size_t)(build - path) + sizeof("/tests/conformance") < sizeof(path))
        strcpy(build, "/tests/conformance");
    return path;
}

static struct options read_options(int argc, char **argv) {
    struct options o = { .dir = default_dir(), .jobs = DEFAULT_JOBS };
    int i = 1;

    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (strcmp(argv[i], "--target") == 0)
            o.target = argv[i + 1];
        else if (strcmp(argv[i], "--jobs") == 0)
            o.jobs = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--dir") == 0)
            o.dir = argv[i + 1];
        else
            break;
    }
    if (i < argc && strncmp(argv[i], "--", 2) == 0) {
        fprintf(stderr, "usage: run [--target host:port] [--jobs n] [--dir transcripts] [command ...]\n"
                        "The jobs and queues of a target are deleted.\n");
        exit(2);
    }
    o.filters = argv + i;
    o.filter_count = argc - i;
    return o;
}

int main(int argc, char **argv) {
    struct options o = read_options(argc, argv);
    glob_t files = { 0 };
    char pattern[PATH_SIZE];

    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    path_join(pattern, "%s/*.txt", o.dir);
    if (totals == MAP_FAILED || glob(pattern, 0, NULL, &files) != 0)
        die("no transcripts in %s", o.dir);
    check_coverage(&o);
    if (o.target)
        run_target(&o, &files);
    else
        run_workers(&o, &files);
    if (totals->skipped)
        printf("# %d cases need a server of their own and were skipped\n", totals->skipped);
    globfree(&files);
    printf("%d passed, %d failed\n", totals->passed, totals->failed);
    return totals->failed ? 1 : 0;
}
