#ifndef ACL_FILE_H
#define ACL_FILE_H

#include <stdbool.h>
#include "base/buf.h"

/*
 * Users in files: the aclfile, or the user lines of the configuration file. Each line is "user name rule ...". All users
 * are loaded, or none: a wrong line changes nothing.
 */

/* Loads the users at start, from the file or from the user lines. False with the text in err. */
bool acl_file_start(struct buf *err) MUST_CHECK;
/* Replaces all users by those of the aclfile. A default user that the file does not name gets its first grants. */
bool acl_file_load(struct buf *err) MUST_CHECK;
/* Writes all users to the aclfile. False with errno. */
bool acl_file_save(void) MUST_CHECK;

#endif
