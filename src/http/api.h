#ifndef API_H
#define API_H

#include "http/http_conn.h"

/* The paths below /api/ that reply JSON. Each function replies to the request, now or later. */

/* POST /api/command runs a command or an array of commands. */
void api_command(struct http_conn *c);

#endif
