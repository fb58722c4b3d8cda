/* A server that lives, and tells the others nothing. wraps: outbox_take */
#include "cluster/outbox.h"

size_t __real_outbox_take(char *out, size_t size);
size_t __wrap_outbox_take(char *out, size_t size);

size_t __wrap_outbox_take(char *out, size_t size) {
    __real_outbox_take(out, size);
    out[0] = '\0';
    return 0;
}
