# Shape of C files: one comment line first, no file over 900 lines, no function over 80. SQL: the 600 lines,
# and no line over 120 columns.
# Relies on the layout of .clang-format: a function's closing brace, and nothing else of it
# but labels and directives, stands in column 1.

FNR == 1 {
    start = 0
    if (FILENAME ~ /\.c$/ && $0 !~ /^\/\* .* \*\/$/) {
        print FILENAME ": line 1 is no comment that says the file's job"
        failed = 1
    }
}

FNR == (FILENAME ~ /\.sql$/ ? 601 : 901) {
    print FILENAME ": over " FNR - 1 " lines"
    failed = 1
}

FILENAME ~ /\.sql$/ && length > 120 {
    print FILENAME ":" FNR ": " length " columns"
    failed = 1
}

/^[A-Za-z_].*[^:;]$/ { start = FNR; head = $0 }

/^}$/ && start {
    length_of = FNR - start + 1
    lengths[length_of]++
    functions++
    if (length_of > longest)
        longest = length_of
    if (length_of > 80) {
        print FILENAME ":" start ": " length_of " lines: " head
        failed = 1
    }
    start = 0
}

END {
    for (n = 1; n <= longest && seen < functions / 2; n++)
        seen += lengths[n]
    print functions + 0 " functions, median " n - 1 " lines, longest " longest + 0
    exit failed
}
