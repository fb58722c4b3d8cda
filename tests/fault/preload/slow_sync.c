/* Preloaded into Postgres: a sync takes as many milliseconds longer as the file $SLOW_SYNC says. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_as_told(void) {
    const char *path = getenv("SLOW_SYNC");
    FILE *file = path != NULL ? fopen(path, "r") : NULL;
    unsigned ms;

    if (file == NULL)
        return;
    if (fscanf(file, "%u", &ms) == 1 && ms > 0)
        usleep(ms * 1000);
    fclose(file);
}

int fsync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

    wait_as_told();
    return real(fd);
}

int fdatasync(int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");

    wait_as_told();
    return real(fd);
}
