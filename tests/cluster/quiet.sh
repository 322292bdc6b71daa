# shellcheck shell=bash disable=SC2034 # for those who read this
# What is true only of a machine that does nothing else: rates that are reached, and times that are not exceeded. To be
# sourced behind tests/shell.sh.

# Whether all cores were idle nine tenths of the last second.
idle() {
    local before after
    before=$(head -n 1 /proc/stat)
    sleep 1
    after=$(head -n 1 /proc/stat)
    awk -v before="$before" -v after="$after" 'BEGIN {
        count = split(before, a); split(after, b)
        for (i = 2; i <= count; i++) all += b[i] - a[i]
        exit !(b[5] - a[5] >= 0.9 * all)
    }'
}

# Runs a measurement, and tells the checks of it whether the machine was idle before and after.
quiet=no
watched() { # COMMAND...
    local status=0
    quiet=no
    if idle; then quiet=yes; fi
    "$@" || status=$?
    idle || quiet=no
    return $status
}
check_if_quiet() { # WHAT COMMAND...
    if [ $quiet = yes ]; then check "$@"; else echo "skip $1: the machine is busy"; fi
}
