/* A server that lives, and tells the others nothing. wraps: news_take */
#include "queue/news.h"

size_t __real_news_take(char *out, size_t size);
size_t __wrap_news_take(char *out, size_t size);

size_t __wrap_news_take(char *out, size_t size) {
    __real_news_take(out, size);
    out[0] = '\0';
    return 0;
}
