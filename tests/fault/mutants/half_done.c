/* A server that, of one transaction in fifty, does the first half alone, and ends the client. wraps: client_txn_send */
#include "batch/batch.h"
#include "batch/client_txn.h"
#include "net/client.h"
#include "net/request.h"

void __real_client_txn_send(struct client_txn *b);
void __wrap_client_txn_send(struct client_txn *b);

void __wrap_client_txn_send(struct client_txn *b) {
    static unsigned count;

    if (b->count < 2 || ++count % 50 != 0) {
        __real_client_txn_send(b);
        return;
    }
    client_kill(REQ_OF_TASK(b->tasks[0])->client, "half done");
    b->count = 1;
    __real_client_txn_send(b);
}
