# Writes the variants of statements for one row. FILE is an expanded file of sql/queries/.
#
#   awk -v out=build/sql/queries -f src/pg/sql_single.awk FILE...
#   awk -v names=1 -f src/pg/sql_single.awk FILE...        (instead prints each statement and its variant)
#
# "-- single: ack_job" in the header of ack_jobs.sql makes $out/ack_job.sql. It is the same statement, but the arrays of
# its only unnest() are scalars. Postgres then makes no rows of arrays, and plans the values as constants.

function fail(message) {
    print FILENAME ": " message > "/dev/stderr"
    failed = 1
    exit 1
}

# unnest($1::a[], $2::b[]) with ordinality -> (select $1::a, $2::b, 1::bigint)
function scalars(text,    at, rest, end, call) {
    if ((at = index(text, "unnest(")) == 0)
        fail("no unnest() for a single row")
    rest = substr(text, at + length("unnest("))
    end = index(rest, ")")
    call = substr(rest, 1, end - 1)
    rest = substr(rest, end + 1)
    if (index(rest, "unnest(") > 0 || call ~ /\(/)
        fail("more than one unnest(), or a call in its arguments")
    gsub(/\[\]/, "", call)
    if (sub(/^[ \n]*with ordinality/, "", rest))
        call = call ", 1::bigint"
    return substr(text, 1, at - 1) "(select" (call ~ /^\n/ ? "" : " ") call ")" rest
}

function finish(    file) {
    if (single == "")
        return
    if (names)
        print stmt, single
    else {
        file = out "/" single ".sql"
        printf "%s", scalars(text) > file
        close(file)
    }
}

FNR == 1 {
    finish()
    stmt = FILENAME
    gsub(/.*\/|\.sql$/, "", stmt)
    text = single = ""
}

/^-- single: / { single = $3; next }

{ text = text $0 "\n" }

END {
    if (!failed)
        finish()
    exit failed
}
