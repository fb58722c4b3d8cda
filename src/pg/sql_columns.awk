# Reads the "returns:" headers of sql/queries/*.sql and writes the columns of each statement's result, as an
# enum of C with their number or, with -v names=1, as a line for each statement: its name, and the columns separated by commas.
#
# The header begins with the columns: "returns: rank, id (before the move), as other_statement; in no order".
# Notes in parentheses, and the text after the first semicolon, are for readers.

FNR == 1 {
    stmt = FILENAME
    gsub(/.*\/|\.sql$/, "", stmt)
    stmts[++count] = stmt
    at_returns = 0
}

/^-- [a-z]+: / { at_returns = /^-- returns: / }

!/^--/ { at_returns = 0 }

at_returns {
    sub(/^-- (returns:)?/, "")
    headers[stmt] = headers[stmt] " " $0
}

function fail(text) {
    print "sql/queries/" text > "/dev/stderr"
    failed = 1
}

# The columns of a statement, separated by commas.
function columns(stmt,   header, fields, n, i, list) {
    if (stmt in lists)
        return lists[stmt]
    header = headers[stmt]
    gsub(/\([^()]*\)/, "", header)
    sub(/;.*/, "", header)
    n = split(header, fields, ",")
    for (i = 1; i <= n; i++) {
        gsub(/^ +| +$/, "", fields[i])
        if (fields[i] ~ /^as [a-z_]+$/)
            fields[i] = columns(substr(fields[i], 4))
        else if (fields[i] !~ /^[a-z_]*$/)
            fail(stmt ".sql: no column: \"" fields[i] "\"")
        list = list (i > 1 ? "," : "") fields[i]
    }
    return lists[stmt] = list
}

END {
    for (s = 1; s <= count; s++) {
        list = columns(stmts[s])
        if (names)
            print stmts[s], list
        else if (list != "") {
            n = split(toupper(list), fields, ",")
            print "enum {"
            for (i = 1; i <= n; i++)
                print "    COL_" toupper(stmts[s]) "_" fields[i] ","
            print "    COLUMNS_" toupper(stmts[s]) " /* how many */"
            print "};"
        }
    }
    exit failed
}
