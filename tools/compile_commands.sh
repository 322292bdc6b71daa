#!/usr/bin/env bash
# compile_commands.sh [--more FILE] COMMAND SOURCE... : print a compilation database of the sources; with --more,
# add them to FILE instead.
set -euo pipefail

file=
if [[ $1 == --more ]]; then
    file=$2
    shift 2
fi
command=$1
shift

quoted() { printf '%s' "$1" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g'; }

entries() {
    local separator='' source
    for source in "$@"; do
        printf '%s{"directory": "%s", "file": "%s", "command": "%s -c %s"}' "$separator" "$(quoted "$PWD")" \
            "$source" "$(quoted "$command")" "$source"
        separator=$',\n'
    done
}

if [[ -z $file ]]; then
    printf '[\n%s\n]\n' "$(entries "$@")"
elif (($# > 0)); then
    printf '%s,\n%s\n]\n' "$(sed '$d' "$file")" "$(entries "$@")" >"$file.new"
    mv "$file.new" "$file"
fi
