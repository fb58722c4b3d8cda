/* Rows of a tool's output as a table or as JSON. */
#include "tools/records.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_bytes.h"
#include "tools/terminal_text.h"

/* Texts are cut to half of the terminal, within these bounds. The ID of a job has 40 characters. Outside a terminal they
 * are cut to the upper bound, except in the last column. */
#define TEXT_COLUMNS_MIN 40
#define TEXT_COLUMNS_MAX 60
/* A last column of texts is not cut below this width; other columns are left out for it. */
#define NARROWEST 20

void records_begin(struct records *r, const struct record_column *columns, size_t width) {
    *r = (struct records){ .columns = columns, .width = width };
}

static void add_cell(struct records *r, struct record_cell cell) {
    /* Grows by doubling: the counts are powers of two. */
    if ((r->count & (r->count - 1)) == 0)
        r->cells = xrealloc(r->cells, (r->count == 0 ? 1 : 2 * r->count) * sizeof *r->cells);
    r->cells[r->count++] = cell;
}

void records_add_text(struct records *r, struct slice text) {
    add_cell(r, (struct record_cell){ slice_dup(text), text.len, NAN });
}

void records_add_number(struct records *r, double number) {
    add_cell(r, (struct record_cell){ NULL, 0, number });
}

void records_add_if_known(struct records *r, int64_t number) {
    records_add_number(r, number < 0 ? NAN : (double)number);
}

void records_add_none(struct records *r) {
    add_cell(r, (struct record_cell){ NULL, 0, NAN });
}

void records_free(struct records *r) {
    for (size_t i = 0; i < r->count; i++)
        free(r->cells[i].text);
    free(r->cells);
    *r = (struct records){ 0 };
}

/* ---- table ---- */

/* The two largest units of a duration. */
static void append_duration(struct buf *out, double seconds) {
    static const struct {
        const char *name;
        long long seconds;
    } units[] = { { "d", 86400 }, { "h", 3600 }, { "m", 60 }, { "s", 1 } };
    long long left = llround(seconds);
    size_t i = 0;

    if (left < 0) {
        buf_append_str(out, "-");
        left = -left;
    }
    while (i + 1 < LENGTH(units) && left < units[i].seconds)
        i++;
    buf_printf(out, "%lld%s", left / units[i].seconds, units[i].name);
    left %= units[i].seconds;
    if (i + 1 < LENGTH(units) && left / units[i + 1].seconds > 0)
        buf_printf(out, " %lld%s", left / units[i + 1].seconds, units[i + 1].name);
}

static size_t append_cell(struct buf *out, const struct record_cell *cell, enum record_type type,
                          size_t most) {
    size_t begin = buf_len(out);

    if (cell->text != NULL)
        return terminal_append(out, (struct slice){ cell->text, cell->len }, most);
    if (isnan(cell->number))
        buf_append_str(out, "-");
    else if (type == RECORD_SECONDS)
        append_duration(out, cell->number);
    else if (type == RECORD_MS && cell->number >= US_PER_S / US_PER_MS)
        append_duration(out, cell->number * US_PER_MS / US_PER_S);
    else if (type == RECORD_MS)
        buf_printf(out, "%.0fms", cell->number);
    else
        buf_printf(out, type == RECORD_RATE ? "%.1f" : "%.0f", cell->number);
    return buf_len(out) - begin;
}

static size_t width_of_cell(const struct record_cell *cell, enum record_type type, size_t most) {
    struct buf text = { 0 };
    size_t width = append_cell(&text, cell, type, most);

    buf_free(&text);
    return width;
}

/* The number of columns up to the last one of the table. */
static size_t table_width(const struct records *r) {
    size_t width = r->width;

    while (width > 0 && r->columns[width - 1].title == NULL)
        width--;
    return width;
}

static size_t text_limit(size_t columns) {
    if (columns == 0 || columns / 2 > TEXT_COLUMNS_MAX)
        return TEXT_COLUMNS_MAX;
    return columns / 2 > TEXT_COLUMNS_MIN ? columns / 2 : TEXT_COLUMNS_MIN;
}

/* The last column of texts takes the room that the others leave, and has no limit if that is unbounded. */
static bool fills_line(const struct records *r, size_t c) {
    return c + 1 == table_width(r) && r->columns[c].type == RECORD_TEXT;
}

/* 0: the column is only in JSON. */
static size_t measure_column(const struct records *r, size_t rows, size_t c, size_t most) {
    size_t widest;

    if (r->columns[c].title == NULL)
        return 0;
    widest = strlen(r->columns[c].title);
    for (size_t row = 0; row < rows; row++) {
        size_t width = width_of_cell(&r->cells[row * r->width + c], r->columns[c].type, most);

        widest = width > widest ? width : widest;
    }
    return widest;
}

/* The length of a line. A column without a width is left out. */
static size_t line_width(const size_t *widths, size_t shown) {
    size_t width = 0;

    for (size_t c = 0; c < shown; c++)
        width += widths[c] == 0 ? 0 : widths[c] + (width > 0 ? 2 : 0);
    return width;
}

/* Leaves out columns from the right until a line fits, a column that fills the line last. The first column stays. */
static void fit_columns(const struct records *r, size_t columns, size_t *widths) {
    size_t shown = table_width(r), last = shown - 1, used;
    bool fills = fills_line(r, last);

    for (size_t c = fills ? last : shown; c-- > 1 && line_width(widths, shown) > columns;)
        widths[c] = 0;
    if (last > 0 && line_width(widths, shown) > columns)
        widths[last] = 0;
    widths[0] = widths[0] < columns ? widths[0] : columns;
    used = line_width(widths, last);
    if (fills && widths[last] > 0 && last > 0)
        widths[last] = columns - used - 2;
    else if (fills && last == 0)
        widths[0] = columns;
}

/* Fills widths. */
static void measure_columns(const struct records *r, size_t rows, size_t columns, size_t *widths) {
    size_t shown = table_width(r);

    for (size_t c = 0; c < shown; c++)
        widths[c] = measure_column(r, rows, c, fills_line(r, c) ? NARROWEST : text_limit(columns));
    if (columns > 0)
        fit_columns(r, columns, widths);
}

static void append_padded(struct buf *out, const struct buf *cell, size_t width, size_t room, bool right,
                          bool last) {
    int pad = room > width ? (int)(room - width) : 0;

    if (right)
        buf_printf(out, "%*s", pad, "");
    buf_append(out, buf_ptr(cell), buf_len(cell));
    if (!right && !last)
        buf_printf(out, "%*s", pad, "");
    buf_append_str(out, last ? "\n" : "  ");
}

/* Appends the line of a row; of the titles if there are no cells. */
static void append_cells(const struct records *r, const struct record_cell *cells, size_t columns,
                         const size_t *widths, struct buf *out) {
    size_t shown = table_width(r);

    while (widths[shown - 1] == 0)
        shown--;
    for (size_t c = 0; c < shown; c++) {
        enum record_type type = r->columns[c].type;
        struct buf text = { 0 };
        size_t width;

        if (widths[c] == 0)
            continue;
        if (cells == NULL)
            width = terminal_append(&text, slice_str(r->columns[c].title), 0);
        else
            width = append_cell(&text, &cells[c], type, columns == 0 && fills_line(r, c) ? 0 : widths[c]);
        append_padded(out, &text, width, widths[c], type != RECORD_TEXT, c + 1 == shown);
        buf_free(&text);
    }
}

void records_table(const struct records *r, size_t columns, size_t most, struct buf *out) {
    size_t rows = r->count / r->width, *widths = xcalloc(r->width, sizeof *widths);

    rows = rows < most ? rows : most;
    measure_columns(r, rows, columns, widths);
    append_cells(r, NULL, columns, widths, out);
    for (size_t row = 0; row < rows; row++)
        append_cells(r, &r->cells[row * r->width], columns, widths, out);
    free(widths);
}

/* ---- JSON ---- */

static json_t *json_of_cell(const struct record_cell *cell, enum record_type type) {
    if (cell->text != NULL && type == RECORD_JSON)
        return json_loadb(cell->text, cell->len, JSON_DECODE_ANY, NULL);
    if (cell->text != NULL)
        return json_of_bytes((struct slice){ cell->text, cell->len });
    if (isnan(cell->number))
        return json_null();
    return type == RECORD_NUMBER || type == RECORD_MS ? json_integer(llround(cell->number))
                                                      : json_real(cell->number);
}

void records_append_json(json_t *value, struct buf *out) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));

    terminal_append_json(out, slice_str(text));
    free(text);
    json_decref(value);
}

void records_json(const struct records *r, struct buf *out) {
    buf_append_str(out, "[");
    for (size_t at = 0; at < r->count; at += r->width) {
        json_t *row = json_object();

        for (size_t c = 0; c < r->width; c++)
            json_object_set_new(row, r->columns[c].name, json_of_cell(&r->cells[at + c], r->columns[c].type));
        buf_append_str(out, at == 0 ? "\n" : ",\n");
        records_append_json(row, out);
    }
    buf_append_str(out, r->count == 0 ? "]\n" : "\n]\n");
}

/* ---- output ---- */

bool line_form_is_json(const struct line_form *form) {
    return form->json || (!form->table && !isatty(STDOUT_FILENO));
}

bool records_write(const struct buf *out) {
    bool good = buf_len(out) == 0 || fwrite(buf_ptr(out), 1, buf_len(out), stdout) == buf_len(out);

    return fflush(stdout) == 0 && good;
}

bool records_print(const struct records *r, const struct line_form *form) {
    struct buf out = { 0 };
    size_t columns = 0, lines;
    bool good;

    if (isatty(STDOUT_FILENO))
        terminal_size(STDOUT_FILENO, &columns, &lines);
    if (line_form_is_json(form))
        records_json(r, &out);
    else
        records_table(r, columns, SIZE_MAX, &out);
    good = records_write(&out);
    buf_free(&out);
    return good;
}
