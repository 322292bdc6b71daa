#!/usr/bin/env bash
# One would guess that gnuplot's bins=10 binrange [0:10] makes ten bins of width 1, from 0 to 10, as histograms of NumPy
# and GSL do: 0.6 is in the first, and 10 is on the edge.
# The range is that of the bins' centres: they are 10/9 wide, the first one is centred at 0 and the last one at 10. They
# hold -0.5 and 10.5, which are outside the range; 0.6 is in the second. With binwidth=1 there are eleven. Bins from 0
# to 10 come from binrange [0.5:9.5].
# gnuplot 5.4.4+dfsg1-2+b2 (Debian 12); `help bins`: BINWIDTH = (HIGH - LOW) / (NBINS - 1).
. "$(dirname "$0")/packages.sh"
unpack gnuplot-nox=5.4.4+dfsg1-2+b2
"$root/usr/bin/gnuplot-nox" -e "print 1" >/dev/null 2>"$work/run" || skip "gnuplot: $(tail -1 "$work/run")"
printf '%s\n' -0.5 0.1 0.6 9.9 10.5 >"$work/values"

# binned OPTIONS: "NUMBER from CENTRE to CENTRE: counts"
binned() {
    "$root/usr/bin/gnuplot-nox" -e "set table '$work/table'; plot '$work/values' using 1 $1" 2>"$work/run" ||
        skip "gnuplot: $(tail -1 "$work/run")"
    awk '/^ *[-0-9]/ { if (n++ == 0) first = $1; last = $1; counts = counts " " $2 }
        END { print n " from " first " to " last ":" counts }' "$work/table"
}

expect "bins=10 binrange [0:10]" "10 from 0 to 10: 2 1 0 0 0 0 0 0 0 2" "$(binned 'bins=10 binrange [0:10]')"
expect "bins binrange [0:10] binwidth=1" "11 from 0 to 10: 2 1 0 0 0 0 0 0 0 0 1" \
    "$(binned 'bins binrange [0:10] binwidth=1')"
expect "bins=10 binrange [0.5:9.5]" "10 from 0.5 to 9.5: 2 0 0 0 0 0 0 0 0 1" "$(binned 'bins=10 binrange [0.5:9.5]')"
exit "$failed"
