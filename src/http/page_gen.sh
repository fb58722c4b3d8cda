#!/bin/sh
# Writes page_gen.c, which embeds the files of src/page/ and the library of their charts.
#
#   page_gen.sh <output directory> [chart library]        (from the repository's root)
#
# Names of files consist of lower case letters, digits, "-", "_" and ".". <output directory>/page has copies, because
# the assembler reads the files by their paths.
set -eu
LC_ALL=C
export LC_ALL
out=$1
chart=${2-}

type_of() {
    case $1 in
    *.html) echo 'text/html; charset=utf-8' ;;
    *.css) echo 'text/css; charset=utf-8' ;;
    *.js) echo 'text/javascript; charset=utf-8' ;;
    *.svg) echo 'image/svg+xml' ;;
    *.png) echo 'image/png' ;;
    *.ico) echo 'image/vnd.microsoft.icon' ;;
    *.webmanifest) echo 'application/manifest+json' ;;
    *)
        echo "src/page/$1: this kind of file has no media type in src/http/page_gen.sh" >&2
        exit 1
        ;;
    esac
}

copy_files() {
    rm -rf "$out/page"
    mkdir -p "$out/page"
    for file in src/page/*.*; do
        cp "$file" "$out/page/"
    done
    [ -z "$chart" ] || cp "$chart" "$out/page/chart.js"
}

names() {
    (cd "$out/page" && printf '%s\n' *.*)
}

# $1 bytes of build/page/$1 between two symbols with the number $2.
bytes() {
    printf '__asm__(".section .rodata\\n.global page_file_%d\\npage_file_%d:\\n.incbin \\"%s\\"\\n"\n' \
        "$2" "$2" "$out/page/$1"
    printf '        ".global page_file_end_%d\\npage_file_end_%d:\\n.byte 0\\n.previous\\n");\n' "$2" "$2"
    printf 'extern const char page_file_%d[], page_file_end_%d[];\n' "$2" "$2"
}

row() {
    type=$(type_of "$1")
    tag=$(sha256sum <"$out/page/$1" | cut -c 1-32)
    printf '    { "/%s", "%s", "\\"%s\\"", page_file_%d, page_file_end_%d },\n' "$1" "$type" "$tag" "$2" "$2"
}

# each <function>: calls it with the name and the number of each file.
each() {
    number=0
    for name in $(names); do
        "$1" "$name" $number
        number=$((number + 1))
    done
}

copy_files
{
    printf '/* The files of the page: made by src/http/page_gen.sh */\n#include "http/page_file.h"\n\n'
    each bytes
    printf '\nconst struct page_file page_files[] = {\n'
    each row
    printf '    { 0 },\n};\n'
} >"$out/page_gen.c.new"
mv "$out/page_gen.c.new" "$out/page_gen.c"
