#ifndef IMPORT_STREAM_H
#define IMPORT_STREAM_H

#include "tools/import.h"

/* The kind that uses struct import_stream_words. */
extern const struct import_kind import_streams;

#endif
