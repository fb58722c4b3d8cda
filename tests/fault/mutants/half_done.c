/* A server that, of one transaction in fifty, does the first half alone, and ends the client. wraps: bundle_send */
#include "batch/batch.h"
#include "batch/bundle.h"
#include "net/client.h"
#include "net/req.h"

void __real_bundle_send(struct bundle *b);
void __wrap_bundle_send(struct bundle *b);

void __wrap_bundle_send(struct bundle *b) {
    static unsigned count;

    if (b->count < 2 || ++count % 50 != 0) {
        __real_bundle_send(b);
        return;
    }
    client_kill(REQ_OF_TASK(b->tasks[0])->client, "half done");
    b->count = 1;
    __real_bundle_send(b);
}
