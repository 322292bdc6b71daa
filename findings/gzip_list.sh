#!/usr/bin/env bash
# One would guess that `gzip -l` of 1.12 prints how many bytes a file unpacks to: since this version it unpacks the file
# and counts, in place of reading the last four bytes.
# Of a file of several members, as `cat a.gz b.gz`, parallel compressors and logs that are appended to have them, it
# prints the bytes of the last member: 10 of 1000010 that gzip -dc writes, and 0 where an empty one is last. The ratio,
# of the whole file to this member, is negative.
# gzip 1.12-1 (Debian 12); NEWS of 1.12: "calculates the uncompressed length by decompressing the data".
. "$(dirname "$0")/packages.sh"
unpack gzip=1.12-1
gzip=$root/bin/gzip
head -c 1000000 /dev/zero | "$gzip" >"$work/long.gz"
head -c 10 /dev/zero | "$gzip" >"$work/short.gz"
"$gzip" </dev/null >"$work/empty.gz"

# listed MEMBER...: bytes by -l, and bytes that are written
listed() {
    (cd "$work" && cat "$@" >joined.gz && echo "$("$gzip" -l joined.gz | awk 'NR == 2 { print $2 }') listed," \
        "$("$gzip" -dc joined.gz | wc -c) written")
}

expect "1,000,000 bytes" "1000000 listed, 1000000 written" "$(listed long.gz)"
expect "then 10 bytes" "10 listed, 1000010 written" "$(listed long.gz short.gz)"
expect "then none" "0 listed, 1000000 written" "$(listed long.gz empty.gz)"
expect "10 bytes, then 1,000,000" "1000000 listed, 1000010 written" "$(listed short.gz long.gz)"
exit "$failed"
