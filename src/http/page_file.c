/* Serves the files of the web page. */
#include "http/page_file.h"

#include <string.h>

#include "http/http_reply.h"

const struct page_file *page_file_find(const char *path) {
    if (strcmp(path, "/") == 0)
        path = "/index.html";
    for (const struct page_file *file = page_files; file->path != NULL; file++) {
        if (strcmp(file->path, path) == 0)
            return file;
    }
    return NULL;
}

/* A browser keeps the file, and asks each time whether it has changed. */
void page_file_reply(struct http_conn *c, const struct page_file *file) {
    const char *known = http_header(c, "If-None-Match");
    struct evbuffer *body = evbuffer_new();

    http_set_header(c, "Cache-Control", "no-cache");
    http_set_header(c, "ETag", file->tag);
    if (known != NULL && strstr(known, file->tag) != NULL) {
        http_reply(c, 304, NULL, body);
        return;
    }
    evbuffer_add_reference(body, file->begin, (size_t)(file->end - file->begin), NULL, NULL);
    http_reply(c, 200, file->type, body);
}
