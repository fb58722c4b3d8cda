#ifndef API_H
#define API_H

#include "http/http_conn.h"

/* The paths below /api/ that reply JSON. Each function replies to the request, now or later. */

/* POST /api/command runs a command or an array of commands. */
void api_command(struct http_conn *c);
/* POST /api/login begins a session of the page. */
void api_login(struct http_conn *c);
/* POST /api/logout ends it. */
void api_logout(struct http_conn *c);
/* GET /api/session tells the user of the request, and whether the page needs a login. */
void api_session(struct http_conn *c);

#endif
