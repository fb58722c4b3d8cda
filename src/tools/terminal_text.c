/* Escapes hostile characters in texts for a terminal. */
#include "tools/terminal_text.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define ELLIPSIS "..."

/* Does the terminal show UTF-8? The locale of the user says it. */
static bool shows_utf8(void) {
    static int known = -1;

    if (known < 0) {
        setlocale(LC_CTYPE, "");
        known = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    }
    return known != 0;
}

static uint32_t code_point(const char *at, size_t len) {
    static const unsigned char first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    uint32_t code = (unsigned char)at[0] & first[len];

    for (size_t i = 1; i < len; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    return code;
}

/* Controls of C0 and C1, and characters that change direction or have no shape. They are hostile in any locale. */
static bool is_control(uint32_t code) {
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c || code == 0x180e ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || code == 0xfeff || (code >= 0xfff9 && code <= 0xfffb) ||
           (code >= 0xe0000 && code <= 0xe0fff);
}

/* The columns of a character; 0 if it must be escaped. */
static size_t width_of_character(uint32_t code) {
    int width;

    if (is_control(code))
        return 0;
    if (code < 0x80)
        return 1;
    width = shows_utf8() ? wcwidth((wchar_t)code) : -1;
    return width > 0 ? (size_t)width : 0;
}

/* Appends the character at text.ptr[at]. Returns its columns; *len is its length in bytes. */
static size_t append_character(struct buf *out, struct slice text, size_t at, size_t *len) {
    size_t width = 0;

    *len = utf8_character_len(text, at);
    if (*len > 0)
        width = width_of_character(code_point(text.ptr + at, *len));
    if (width > 0) {
        buf_append(out, text.ptr + at, *len);
        return width;
    }
    *len = *len == 0 ? 1 : *len;
    for (size_t i = 0; i < *len; i++)
        buf_printf(out, "\\x%02x", (unsigned char)text.ptr[at + i]);
    return 4 * *len;
}

size_t terminal_append(struct buf *out, struct slice text, size_t most) {
    size_t width = 0, len, room = most > sizeof ELLIPSIS - 1 ? most - (sizeof ELLIPSIS - 1) : most;
    size_t cut_at = buf_len(out), cut_width = 0;

    for (size_t at = 0; at < text.len; at += len) {
        width += append_character(out, text, at, &len);
        if (most == 0 || width <= room) {
            cut_at = buf_len(out);
            cut_width = width;
        }
        if (most > 0 && width > most) {
            out->end = out->start + cut_at;
            buf_append_str(out, ELLIPSIS);
            return cut_width + sizeof ELLIPSIS - 1;
        }
    }
    return width;
}

void terminal_print(FILE *to, struct slice text) {
    struct buf out = { 0 };

    terminal_append(&out, text, 0);
    if (buf_len(&out) > 0)
        fwrite(buf_ptr(&out), 1, buf_len(&out), to);
    buf_free(&out);
}

void terminal_print_if(FILE *to, const char *text) {
    if (isatty(fileno(to)))
        terminal_print(to, slice_str(text));
    else
        fputs(text, to);
}

static void append_json_escape(struct buf *out, uint32_t code) {
    if (code < 0x10000) {
        buf_printf(out, "\\u%04x", (unsigned)code);
        return;
    }
    code -= 0x10000;
    buf_printf(out, "\\u%04x\\u%04x", 0xd800 + (unsigned)(code >> 10), 0xdc00 + (unsigned)(code & 0x3ff));
}

/* Outside of its strings JSON is ASCII without control characters but line ends. */
void terminal_append_json(struct buf *out, struct slice json) {
    size_t len;

    for (size_t at = 0; at < json.len; at += len) {
        uint32_t code;

        len = utf8_character_len(json, at);
        len = len == 0 ? 1 : len;
        code = code_point(json.ptr + at, len);
        if (is_control(code) && code != '\n')
            append_json_escape(out, code);
        else
            buf_append(out, json.ptr + at, len);
    }
}

void terminal_size(int fd, size_t *columns, size_t *lines) {
    struct winsize size;
    bool known = ioctl(fd, TIOCGWINSZ, &size) == 0;

    *columns = known && size.ws_col > 0 ? size.ws_col : 80;
    *lines = known && size.ws_row > 0 ? size.ws_row : 24;
}
