/* Checks of this machine: the clock, and the disk of the embedded Postgres. */
#include "admin/doctor.h"

#include <string.h>
#include <sys/statvfs.h>

#include "admin/doctor_here.h"
#include "base/clock.h"
#include "config/config.h"

/* Clocks set by NTP differ by milliseconds. */
#define CLOCK_MOST_US (2 * US_PER_S)

#define MB (INT64_C(1024) * 1024)
/* The WAL of Postgres alone takes 2 GB (max_wal_size). */
#define DISK_FEW (4096 * MB)
#define DISK_LAST (1024 * MB)
#define DISK_FEW_PERCENT 5
/* Authorities such as Let's Encrypt renew a certificate 30 days before its end. */
#define CERTIFICATE_FEW_DAYS 30

/* The database read its clock between before_us and after_us. Only a time outside that range is wrong. */
void doctor_note_clock(struct findings *f, int64_t db_us, int64_t before_us, int64_t after_us) {
    int64_t off = db_us < before_us ? before_us - db_us : db_us - after_us;

    if (off <= CLOCK_MOST_US)
        return;
    findings_addf(f, SEVERITY_WARNING, "clock",
                  "set the clocks of both machines by NTP: delays, leases and TTLs use the database's clock, "
                  "log lines this machine's",
                  "the database's clock is %lld.%03lld s %s this machine's", (long long)(off / US_PER_S),
                  (long long)(off / US_PER_MS % 1000), db_us < before_us ? "behind" : "ahead of");
}

static enum severity disk_severity(int64_t free_bytes, int64_t total_bytes) {
    if (free_bytes < DISK_LAST)
        return SEVERITY_ERROR;
    if (free_bytes < DISK_FEW || free_bytes / DISK_FEW_PERCENT < total_bytes / 100)
        return SEVERITY_WARNING;
    return SEVERITY_COUNT;
}

void doctor_note_disk(struct findings *f, const char *dir, int64_t free_bytes, int64_t total_bytes) {
    enum severity severity = disk_severity(free_bytes, total_bytes);

    f->checks++;
    if (severity == SEVERITY_COUNT)
        return;
    findings_addf(f, severity, "disk",
                  "free disk space, or find long queues without workers (QSCAN MINLEN 1000): on a full disk "
                  "ADDJOB is refused, and finally Postgres stops",
                  "the disk of the embedded Postgres (%.300s) has %lld MB left of %lld", dir,
                  (long long)(free_bytes / MB), (long long)(total_bytes / MB));
}

void doctor_note_certificate(struct findings *f, int days) {
    static const char advice[] = "renew tls-cert-file, then send SIGHUP or CONFIG SET tls-cert-file";

    f->checks++;
    if (days < 0)
        findings_addf(f, SEVERITY_ERROR, "certificate", advice, "the certificate of tls-port has expired");
    else if (days < CERTIFICATE_FEW_DAYS)
        findings_addf(f, SEVERITY_WARNING, "certificate", advice,
                      "the certificate of tls-port expires in %d days", days);
}

void doctor_look_here(struct findings *f) {
    struct statvfs disk;

    if (config.database[0] == '\0' && statvfs(config.dir, &disk) == 0)
        doctor_note_disk(f, config.dir, (int64_t)(disk.f_bavail * disk.f_frsize),
                         (int64_t)(disk.f_blocks * disk.f_frsize));
}
