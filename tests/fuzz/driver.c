/* Runs a target of this folder without libFuzzer: a fixed number of inputs, made from the lines of its seeds. */
#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "check.h"
#include "random.h"

#define INPUT_MAX 400
#define SEEDS_MAX 64

struct input {
    uint8_t bytes[INPUT_MAX];
    size_t len;
};

static struct input seeds[SEEDS_MAX];
static size_t seed_count;

/* \r \n and \xHH stand for their bytes. */
static void add_seed(const char *line) {
    struct input *in = &seeds[seed_count++];

    for (; *line && *line != '\n' && in->len < INPUT_MAX; line++) {
        unsigned byte = (unsigned char)*line;

        if (line[0] == '\\' && (line[1] == 'r' || line[1] == 'n'))
            byte = *++line == 'r' ? '\r' : '\n';
        in->bytes[in->len++] = (uint8_t)byte;
    }
}

static bool read_seeds(const char *path) {
    FILE *f = fopen(path, "r");
    char line[INPUT_MAX * 2];

    if (f == NULL)
        return false;
    while (seed_count < SEEDS_MAX && fgets(line, sizeof line, f) != NULL)
        add_seed(line);
    fclose(f);
    return seed_count > 0;
}

static void append(struct input *in, const uint8_t *bytes, size_t len) {
    if (len > INPUT_MAX - in->len)
        len = INPUT_MAX - in->len;
    memmove(in->bytes + in->len, bytes, len);
    in->len += len;
}

/* Appends a part of a seed. */
static void splice(struct input *in) {
    const struct input *seed = &seeds[random_below(seed_count)];
    size_t from = random_below(seed->len + 1), len = random_below(seed->len - from + 1);

    append(in, seed->bytes + from, len);
}

static void mutate(struct input *in) {
    size_t at = random_below(in->len + 1);
    uint8_t byte = (uint8_t)random_below(256);

    switch (random_below(6)) {
    case 0:
        if (at < in->len)
            in->bytes[at] = byte;
        break;
    case 1:
        if (at < in->len)
            in->bytes[at] ^= (uint8_t)(1U << random_below(8));
        break;
    case 2:
        in->len = at;
        break;
    case 3:
        append(in, &byte, 1);
        break;
    case 4:
        append(in, in->bytes, at);
        break;
    default:
        splice(in);
    }
}

/* Inputs of the exact size, so that the sanitizers see a read beyond the end. */
static void run_input(const struct input *in) {
    uint8_t *copy = xmalloc(in->len + 1);

    memcpy(copy + 1, in->bytes, in->len);
    (void)LLVMFuzzerTestOneInput(copy + 1, in->len);
    free(copy);
}

int main(int argc, char **argv) {
    const char *wanted = getenv("FUZZ_INPUTS");
    long count = wanted != NULL ? atol(wanted) : 20000;
    struct input in;

    if (argc != 2 || !read_seeds(argv[1])) {
        fprintf(stderr, "usage: %s seeds\n", argv[0]);
        return 2;
    }
    random_start(7);
    for (size_t i = 0; i < seed_count; i++)
        run_input(&seeds[i]);
    for (long i = 0; i < count; i++) {
        in = seeds[random_below(seed_count)];
        for (uint64_t changes = random_below(8); changes > 0; changes--)
            mutate(&in);
        run_input(&in);
    }
    printf("ok 1 - %s: %ld inputs\n", argv[1], count);
    return 0;
}
