#ifndef HEADERS_H
#define HEADERS_H

#include <stdbool.h>
#include "net/args.h"
#include "net/request.h"

/*
 * Headers of a job: names and texts that travel with it. In the server and in Postgres they are a JSON object of
 * strings. Names are sorted by length, then by bytes, as jsonb sorts them.
 */
#define HEADERS_MAX 32
#define HEADER_NAME_MAX 128
/* Maximum bytes of all names and texts of a job. */
#define HEADERS_MAX_BYTES 8192
#define HEADERS_TOO_MANY "LIMIT a job has at most 32 headers"

/* Checks the pairs of HEADER and sets *json to the object, in the memory of r. No pairs: ptr is NULL. A text with ptr
 * NULL becomes null. False if it has replied an error and ended the request. */
bool headers_or_reply(struct req *r, struct arg_pairs *pairs, struct slice *json) MUST_CHECK;

#endif
