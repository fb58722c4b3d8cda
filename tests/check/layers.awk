# Layers: a file includes only files of its own layer or of a lower one.
#
#   awk -f layers.awk src/*.[ch]              fails and names what includes upwards
#   awk -v map=1 -f layers.awk src/*.[ch]     lists the files by layer, each with its job
#
# A header says its layer in line 1. A source file has its header's layer, or the one that
# its first three lines name. Without either, config_file.c has that of config.h, and cmd_*.c
# that of command.h.

# main.c stands above all others.
BEGIN { layer["main.c"] = 5 }

function name_of(path) {
    sub(/.*\//, "", path)
    return path
}

function fail(text) {
    print text
    failed = 1
}

# The comment's words on this line.
function words(line) {
    gsub(/^[\/ ]*\*+ *| *\*\/ *$/, "", line)
    sub(/ *\(?layer [0-9]\)?$/, "", line)
    return line
}

function layer_of(file, header) {
    if (file in layer)
        return layer[file]
    header = file ~ /^cmd_/ ? "command.c" : file
    do {
        sub(/\.c$/, ".h", header)
        if (header in layer)
            return layer[header]
    } while (sub(/_[^_]*$/, ".h", header))
    return ""
}

FNR == 1 {
    file = name_of(FILENAME)
    files[++count] = file
    job[file] = file ~ /\.c$/ ? words($0) : ""
}

FNR <= 3 && match($0, /layer [0-9]/) {
    layer[file] = substr($0, RSTART + 6, 1)
}

# A header's job: the first sentence of its first longer comment.
file ~ /\.h$/ && /^ \* |^\/\* [A-Z]/ && job[file] !~ /[.:;]( |$)/ {
    job[file] = job[file] (job[file] == "" ? "" : " ") words($0)
    sub(/[.:;]( .*|$)/, ".", job[file])
}

/^#include "/ {
    split($0, part, "\"")
    included[++includes] = part[2]
    includer[includes] = file
}

{ lines[file] = FNR }

END {
    for (i = 1; i <= count; i++)
        if (layer_of(files[i]) == "")
            fail(files[i] ": has no layer: no header, and no \"layer N\" in its first lines")
    for (i = 1; i <= includes; i++)
        if (included[i] in layer && layer_of(includer[i]) != "" && layer[included[i]] > layer_of(includer[i]))
            fail(includer[i] " (layer " layer_of(includer[i]) ") includes " included[i] " (layer " \
                 layer[included[i]] ")")
    if (!map) {
        print count " files, " includes " includes"
        exit failed
    }
    for (level = 9; level >= 0; level--)
        for (i = 1; i <= count; i++) {
            source = files[i]
            sub(/\.h$/, ".c", source)
            if (layer_of(files[i]) == level && (files[i] == source || !(source in lines)))
                printf "%d  %-16s %4d  %s\n", level, files[i], lines[files[i]], job[files[i]]
        }
}
