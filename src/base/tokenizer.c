/* Splits a line into words: blanks, quotes and escapes. */
#include "base/tokenizer.h"

#include <string.h>

static bool tokenizer_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static int hex_value(char c) {
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *found = c == '\0' ? NULL : strchr(digits, c);

    if (found == NULL)
        return -1;
    return (int)(found - digits) - (found - digits > 15 ? 6 : 0);
}

/* The byte of the escape sequence at *from, which is behind the backslash. Moves *from behind the sequence. */
static char tokenizer_unescape(const char *line, size_t end, size_t *from) {
    static const char letters[] = "nrtba", bytes[] = "\n\r\t\b\a";
    char c = line[(*from)++];
    const char *known = c == '\0' ? NULL : strchr(letters, c);

    if (c == 'x' && end - *from >= 2 && hex_value(line[*from]) >= 0 && hex_value(line[*from + 1]) >= 0) {
        c = (char)(hex_value(line[*from]) * 16 + hex_value(line[*from + 1]));
        *from += 2;
        return c;
    }
    return known == NULL ? c : bytes[known - letters];
}

/* Copies the text at *from, which is behind the opening quote, to *to. *to never passes *from. False if the closing
 * quote is missing, or no separator follows it. */
static bool unquote(char *line, size_t end, char quote, size_t *from, size_t *to) {
    while (*from < end && line[*from] != quote) {
        bool escaped = line[*from] == '\\' && *from + 1 < end;

        if (escaped && quote == '"') {
            (*from)++;
            line[(*to)++] = tokenizer_unescape(line, end, from);
            continue;
        }
        if (escaped && line[*from + 1] == quote)
            (*from)++;
        line[(*to)++] = line[(*from)++];
    }
    if (*from == end)
        return false;
    (*from)++;
    return *from == end || tokenizer_is_blank(line[*from]);
}

enum word_result tokenizer_next(char *line, size_t end, size_t *from, struct slice *word) {
    size_t start, to;

    while (*from < end && tokenizer_is_blank(line[*from]))
        (*from)++;
    if (*from == end)
        return WORD_END;
    start = to = *from;
    while (*from < end && !tokenizer_is_blank(line[*from])) {
        char c = line[(*from)++];

        if (c != '"' && c != '\'')
            line[to++] = c;
        else if (!unquote(line, end, c, from, &to))
            return WORD_UNBALANCED;
    }
    *word = (struct slice){ line + start, to - start };
    return WORD_FOUND;
}
