#!/usr/bin/env bash
# terms.sh PRINTED FITTED COLLECTIVES.csv: print the rows of docs/validation/summit-terms.csv, the value of each
# model term. The first rows are the published model with the printed and with the fitted parameters; each following
# row adds one term. One table uses all cells, the other predicts node counts that were left out of the fit.
set -euo pipefail
printed=$1 fitted=$2 collectives=$3
portolan=${BUILD:-build}/portolan

row() { # NAME MACHINE MODEL [OPTION]
    local name=$1 machine=$2 model=$3
    shift 3
    "$portolan" score --machine "$machine" --model "$model" "$collectives" --format csv "$@" |
        awk -F, -v name="$name" '$1 == "all" && $4 == "model" {
            printf "| %s | %.1f %% | %.1f %% | %.1f %% | %.1f %% | %.0f %% | %.0f %% | %.0f %% |\n", name,
                100 * $9 / $8, 100 * $11, 100 * $12, 100 * $13, 100 * $15, 100 * $16, 100 * $10 / $6 }'
}

terms=(copies.shared gap message_rate library copies.pageable copies.h2h network)
for option in --in-sample --leave-one-out; do
    echo "$option:"
    echo "| model | clear cells right | regret, mean | 95th | worst | error, median | 90th | near-ties |"
    echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
    # shellcheck disable=SC2086
    row "published, printed parameters" "$printed" published
    row "published, fitted parameters" "$fitted" published --in-sample
    model=published
    for term in "${terms[@]}"; do
        model=$model+$term
        # shellcheck disable=SC2086
        row "+ \`$term\`" "$fitted" "$model" $option
    done
done
