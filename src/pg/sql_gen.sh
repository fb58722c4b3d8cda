#!/bin/sh
# Writes sql/ and the embedded Postgres' settings as C strings: sql_gen.h and sql_gen.c.
#
#   sql_gen.sh <output directory>        (from the repository's root)
#
# A file of the output is replaced only when it changes. Statements come in the
# order of their files' names; a migration's version is the number it begins with. The
# numbers have no gaps.
# <output directory>/sql has the files of sql/ with their parts expanded (sql_parts.awk), and the variants of
# statements for one row (sql_single.awk).
set -eu
LC_ALL=C
export LC_ALL
out=$1
sql=$out/sql
version=0 # of the migration that was read last

# The C literal of a file, with one source line for each line. A missing file gives "".
literal() {
    if [ -s "$1" ]; then
        sed -e 's/\\/\\\\/g' -e 's/["?]/\\&/g' -e 's/	/\\t/g' -e 's/^.*$/    "&\\n"/' "$1"
    else
        echo '    ""'
    fi
}

files() {
    find "$1" -name '*.sql' | sort
}

# The names of the files of sql/ itself. schema.sql is left out, because it only serves for comparisons.
texts() {
    {
        printf 'session\n'
        find sql -maxdepth 1 -name '*.sql' ! -name schema.sql -exec basename {} .sql \;
    } | sort -u
}

header() {
    cat <<END
/* made by src/pg/sql_gen.sh */
#ifndef SQL_GEN_H
#define SQL_GEN_H

#include <stdbool.h>

/* sql/queries/, one statement a file: sql_texts[SQL_ADD_JOBS] is add_jobs.sql. */
enum sql_stmt {
$(files "$sql/queries" | sed -e 's,.*/\(.*\)\.sql$,    SQL_\1\,,' | tr 'a-z' 'A-Z')
    SQL_COUNT
};

/* The same numbers by the names of the files: statement_add_jobs is SQL_ADD_JOBS. */
enum {
$(files "$sql/queries" | xargs -n 1 basename -s .sql | awk '{ printf "    statement_%s = SQL_%s,\n", $1, toupper($1) }')
};

/* The columns of the results, as their headers name them: COL_ADD_UNIQUE_RANK is the column rank of add_unique.sql. */
$(files "$sql/queries" | xargs awk -f src/pg/sql_columns.awk)

struct sql_text {
    const char *name;
    const char *text;
    const char *columns;  /* of the result, separated by commas */
    enum sql_stmt single; /* the same statement for one row, with scalars for its arrays; SQL_COUNT: none */
};
extern const struct sql_text sql_texts[SQL_COUNT];

/* sql/doctor/, the queries of DOCTOR. They are not prepared. */
enum doctor_stmt {
$(files "$sql/doctor" | sed -e 's,.*/\(.*\)\.sql$,    DOCTOR_\1\,,' | tr 'a-z' 'A-Z')
    DOCTOR_COUNT
};
extern const struct sql_text doctor_texts[DOCTOR_COUNT];

/* The indexes of the schema: table.index, separated by commas. */
extern const char sql_indexes[];

/* sql/migrations/, in ascending order. breaking: older servers must not run on the result. */
struct sql_migration {
    int version;
    bool breaking;
    const char *name;
    const char *text;
};
extern const struct sql_migration sql_migrations[];
extern const int sql_migration_count;

/* sql/api/, all files in the order of their names, and the version in the first file. */
extern const char sql_api[];
extern const int sql_api_version;

/* The other files of sql/: sql_session is session.sql. Empty when there is no such file. */
$(for name in $(texts); do echo "extern const char sql_$name[];"; done)

/* conf/embedded-postgresql.conf */
extern const char embedded_conf[];

#endif
END
}

migration() {
    name=$(basename "$1" .sql)
    number=$(expr "$name" : '0*\([1-9][0-9]*\)_') || { echo "$1: no number in front" >&2; exit 1; }
    version=$((version + 1))
    [ "$number" -eq "$version" ] || { echo "$1: the number must be $version" >&2; exit 1; }
    breaking=false
    [ "$(head -n 1 "$1")" != '--! breaking' ] || breaking=true
    printf '    { %s, %s, "%s",\n' "$number" "$breaking" "$name"
    literal "$1"
    echo '    },'
}

# The variant of statement $1 for one row, as the number of the statement.
single() {
    echo "$singles" | awk -v stmt="$1" '$1 == stmt { name = toupper($2) } END { print "SQL_" (name == "" ? "COUNT" : name) }'
}

# Writes the statements of directory $1, and the columns of their results if these are known.
statements() {
    files "$1" | xargs awk -v names=1 -f src/pg/sql_columns.awk | while read -r name columns; do
        printf '    { "%s",\n' "$name"
        literal "$1/$name.sql"
        printf '    , "%s", %s },\n' "$columns" "$(single "$name")"
    done
}

# The primary keys, unique constraints and indexes of sql/schema.sql.
indexes() {
    sed -nE -e '/^ALTER TABLE/{N;s/^ALTER TABLE (ONLY )?pgdisque\.(\w+)\s+ADD CONSTRAINT (\w+) (PRIMARY KEY|UNIQUE).*/\2.\3/p;}' \
        -e 's/^CREATE (UNIQUE )?INDEX (\w+) ON (ONLY )?pgdisque\.(\w+) .*/\4.\2/p' sql/schema.sql | paste -s -d ,
}

source_file() {
    printf '/* SQL and settings as C strings: made by src/pg/sql_gen.sh */\n#include "sql_gen.h"\n\n'
    echo 'const struct sql_text sql_texts[SQL_COUNT] = {'
    statements "$sql/queries"
    printf '};\n\nconst struct sql_text doctor_texts[DOCTOR_COUNT] = {\n'
    statements "$sql/doctor"
    printf '};\n\nconst char sql_indexes[] = "%s";\n' "$(indexes)"
    printf '\nconst struct sql_migration sql_migrations[] = {\n'
    for file in $(files "$sql/migrations"); do
        migration "$file"
    done
    printf '    { 0, false, "", "" },\n};\nconst int sql_migration_count = %d;\n' "$(files "$sql/migrations" | wc -l)"
    for name in $(texts); do
        printf '\nconst char sql_%s[] =\n%s;\n' "$name" "$(literal "$sql/$name.sql")"
    done
    printf '\nconst char sql_api[] =\n'
    for file in $(files "$sql/api"); do
        literal "$file"
    done
    printf ';\nconst int sql_api_version = %s;\n' "$(sed -n 's/^--! version \([0-9]*\)$/\1/p' "$sql"/api/10_*.sql)"
    printf '\nconst char embedded_conf[] =\n%s;\n' "$(literal conf/embedded-postgresql.conf)"
}

replace_if_changed() {
    if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}

rm -rf "$sql"
for folder in $(find sql -type d ! -name parts); do
    mkdir -p "$out/$folder"
done
# shellcheck disable=SC2046
awk -v out="$out" -f src/pg/sql_parts.awk $(files sql | grep -v '^sql/parts/')
singles=$(files "$sql/queries" | xargs awk -v names=1 -f src/pg/sql_single.awk)
files "$sql/queries" | xargs awk -v out="$sql/queries" -f src/pg/sql_single.awk
header > "$out/sql_gen.h.new"
source_file > "$out/sql_gen.c.new"
replace_if_changed "$out/sql_gen.h"
replace_if_changed "$out/sql_gen.c"
