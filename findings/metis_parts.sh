#!/usr/bin/env bash
# One would guess that METIS spreads a ring of 16 vertices over 16 parts with one in each, or at least leaves no part
# empty where there are more vertices than parts.
# By default (k-way) it fills 7 of 16 parts, with up to 3 vertices, and 5 of 8 with a ring of 12; the exit status is 0.
# The k-way method begins by coarsening the graph once, whatever its size: neighbours are joined in pairs, so that there
# are about 8 vertices for 16 parts. Recursive bisection (-ptype=rb) fills all parts, as k-way does on rings of two
# vertices a part and more.
# METIS 5.1.0.dfsg-7 (Debian 12); the loop of CoarsenGraph in libmetis/coarsen.c.
. "$(dirname "$0")/packages.sh"
unpack metis=5.1.0.dfsg-7 libmetis5=5.1.0.dfsg-7
export LD_LIBRARY_PATH=$library

# parted VERTICES PARTS [OPTION]: a ring
parted() {
    local vertices=$1 parts=$2 i
    shift 2
    {
        echo "$vertices $vertices"
        for ((i = 0; i < vertices; i++)); do
            echo $(((i + vertices - 1) % vertices + 1)) $(((i + 1) % vertices + 1))
        done
    } >"$work/ring"
    "$root/usr/bin/gpmetis" "$@" "$work/ring" "$parts" >"$work/run" 2>&1 || skip "gpmetis: $(tail -1 "$work/run")"
    sort "$work/ring.part.$parts" | uniq -c | awk -v all="$parts" '{ if ($1 > most) most = $1 }
        END { print NR " of " all " parts, at most " most " vertices" }'
}

expect "16 vertices, k-way" "7 of 16 parts, at most 3 vertices" "$(parted 16 16)"
expect "16 vertices, k-way with the least imbalance" "7 of 16 parts, at most 3 vertices" "$(parted 16 16 -ufactor=1)"
expect "16 vertices, recursive bisection" "16 of 16 parts, at most 1 vertices" "$(parted 16 16 -ptype=rb)"
expect "12 vertices, k-way" "5 of 8 parts, at most 3 vertices" "$(parted 12 8)"
expect "12 vertices, recursive bisection" "8 of 8 parts, at most 2 vertices" "$(parted 12 8 -ptype=rb)"
expect "32 vertices, k-way" "16 of 16 parts, at most 2 vertices" "$(parted 32 16)"
exit "$failed"
