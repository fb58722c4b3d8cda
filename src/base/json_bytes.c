/* Bytes of any kind as values of JSON. */
#include "base/json_bytes.h"

#include <stdlib.h>
#include <sodium.h>

json_t *json_of_bytes(struct slice bytes) {
    size_t size;
    char *text;
    json_t *out;

    if (utf8_is_valid(bytes))
        return json_stringn_nocheck(bytes.ptr, bytes.len);
    size = sodium_base64_encoded_len(bytes.len, sodium_base64_VARIANT_ORIGINAL);
    text = xmalloc(size);
    sodium_bin2base64(text, size, (const unsigned char *)bytes.ptr, bytes.len,
                      sodium_base64_VARIANT_ORIGINAL);
    out = json_pack("{s:s}", "base64", text);
    free(text);
    return out;
}
