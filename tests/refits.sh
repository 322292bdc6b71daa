#!/usr/bin/env bash
# refits.sh: fit the machine files of Summit and Lassen to their samples again, by the commands of docs/fitting.md,
# and compare: every line of the fit must be in the file. What was fitted to collectives, or borrowed, is not compared.
# Nor is messages.latency, which their tables of algorithms were not fitted with (docs/decisions/0049).
# The samples are not part of the project: skipped (77) where PORTOLAN_SHARED, or ../shared, does not hold them.
set -euo pipefail
portolan=$(pwd)/${BUILD:-build}/portolan
shared=${PORTOLAN_SHARED:-../shared}/data
[ -d "$shared" ] || { echo "skipped: no samples at $shared"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

source="portolan fit of the samples of bienz2/BenchPress (commit ac2ede18) for arXiv:2010.10378; docs/fitting.md"
failed=0
refit() { # NAME FOLDER
    local name=$1 folder=$2 missing
    (cd "$shared/$folder" && "$portolan" fit samples.csv --node cores=40 --name "$name" --source "$source" \
        --out "$out/$name.yaml")
    missing=$(grep -vxF -f "scenarios/machines/$name.yaml" "$out/$name.yaml" | grep -v '^  latency: ' || true)
    [ -z "$missing" ] && echo "$name: as fitted" && return
    echo "$name: not in scenarios/machines/$name.yaml:"
    echo "$missing"
    failed=1
}

for folder in summit-spectrum lassen-spectrum lassen-spectrum-2020 lassen-mvapich2; do
    refit "$folder-refit" "$folder"
done
exit "$failed"
