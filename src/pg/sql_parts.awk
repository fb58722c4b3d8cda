# Expands the parts of SQL files: writes each FILE of sql/ as $out/FILE.
#
#   awk -v out=build -f src/pg/sql_parts.awk sql/*.sql sql/*/*.sql        (from the repository's root)
#
# {{name(argument, ...)}} becomes the text of sql/parts/name.sql. The first line of a part is a comment with its
# name and parameters. The text begins after the comment. :parameter in it becomes the argument, and a part may
# contain parts. All lines of the text get the indentation of the line with the mark.

function fail(message) {
    print FILENAME ":" FNR ": " message > "/dev/stderr"
    failed = 1
    exit 1
}

function read_part(name,    file, line, header) {
    file = "sql/parts/" name ".sql"
    texts[name] = ""
    if ((getline line < file) <= 0 || index(line, "-- " name "(") != 1)
        fail(file " does not begin with -- " name "(")
    header = substr(line, length("-- " name "(") + 1)
    parameters[name] = substr(header, 1, index(header, ")") - 1)
    while ((getline line < file) > 0)
        if (texts[name] != "" || line !~ /^--/)
            texts[name] = texts[name] (texts[name] == "" ? "" : "\n") line
    close(file)
}

# Replaces :parameter, but not ::type.
function fill(name, arguments,    text, result, count, names, values, i, known, word) {
    count = split(parameters[name], names, ", ")
    if (split(arguments, values, ", ") != count)
        fail("{{" name "(" arguments ")}} needs the arguments " parameters[name])
    for (i = 1; i <= count; i++)
        known[names[i]] = values[i]
    text = texts[name]
    while (match(text, /::?[a-z_]+/)) {
        word = substr(text, RSTART + 1, RLENGTH - 1)
        if (word !~ /^:/ && !(word in known))
            fail("sql/parts/" name ".sql has no parameter " word)
        result = result substr(text, 1, RSTART - 1) (word ~ /^:/ ? ":" word : known[word])
        text = substr(text, RSTART + RLENGTH)
    }
    return result text
}

function expand(line,    at, call, name, indent, text) {
    while ((at = index(line, "{{")) > 0) {
        call = substr(line, at + 2, index(line, "}}") - at - 2)
        name = substr(call, 1, index(call, "(") - 1)
        if (!(name in texts))
            read_part(name)
        text = fill(name, substr(call, length(name) + 2, length(call) - length(name) - 2))
        indent = substr(line, 1, at - 1)
        sub(/^(.*\n)?/, "", indent)
        match(indent, /^ */)
        gsub(/\n/, "\n" substr(indent, 1, RLENGTH), text)
        line = substr(line, 1, at - 1) text substr(line, at + 2 + length(call) + 2)
    }
    return line
}

{ print expand($0) > (out "/" FILENAME) }

FNR == 1 && NR > 1 { close(last) }
{ last = out "/" FILENAME }
END { exit failed }
