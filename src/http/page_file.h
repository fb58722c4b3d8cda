#ifndef PAGE_FILE_H
#define PAGE_FILE_H

#include "base/util.h"
#include "http/http_conn.h"

/* The files of the web page: those of src/page/, and Chart.js. The build embeds them in the program. */
struct page_file {
    const char *path; /* with its leading slash */
    const char *type; /* its media type */
    const char *tag;  /* its entity tag, a hash of its bytes */
    const char *begin;
    const char *end;
};

/* Ends with a row without a path. */
extern const struct page_file page_files[];

/* The file of the path, or NULL. The path "/" is index.html. */
const struct page_file *page_file_find(const char *path);
void page_file_reply(struct http_conn *c, const struct page_file *file);

#endif
