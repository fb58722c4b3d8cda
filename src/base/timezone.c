/* Time zones from the system's database. */
#include "base/timezone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ZONES "/usr/share/zoneinfo"

static struct {
    bool utc;
    char *own; /* the TZ of the process while another one is set; NULL: TZ was not set */
} zone;

/* Refuses names that could lead to a file outside of ZONES. */
static bool timezone_is_name(const char *name) {
    const char *letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";

    return name[0] != '/' && name[strspn(name, letters)] == '\0';
}

static bool is_zone_file(const char *path) {
    FILE *f = fopen(path, "r");
    char magic[4] = "";
    bool is;

    if (f == NULL)
        return false;
    is = fread(magic, 1, sizeof magic, f) == sizeof magic && memcmp(magic, "TZif", sizeof magic) == 0;
    fclose(f);
    return is;
}

bool timezone_exists(const char *name) {
    char path[512];

    if (name[0] == '\0')
        return true;
    snprintf(path, sizeof path, "%s/%s", ZONES, name);
    return timezone_is_name(name) && is_zone_file(path);
}

void timezone_enter(const char *name) {
    char path[512];

    zone.utc = name[0] == '\0';
    if (zone.utc)
        return;
    zone.own = getenv("TZ") != NULL ? xstrdup(getenv("TZ")) : NULL;
    snprintf(path, sizeof path, ":%s/%s", ZONES, name);
    setenv("TZ", path, 1);
    tzset();
}

void timezone_leave(void) {
    if (zone.utc)
        return;
    if (zone.own != NULL)
        setenv("TZ", zone.own, 1);
    else
        unsetenv("TZ");
    free(zone.own);
    tzset();
}

int32_t timezone_offset_at(int64_t at) {
    time_t moment = (time_t)at;
    struct tm local;

    if (zone.utc || localtime_r(&moment, &local) == NULL)
        return 0;
    return (int32_t)local.tm_gmtoff;
}
