#!/usr/bin/env bash
# accuracy_nccl.sh: print the rows of docs/validation/nccl-held-out.csv on NCCL's times at numbers of GPUs that
# nothing was fitted to: `portolan fit` gets the samples of some numbers of GPUs, and predicts the medians of others.
#
# BUILD has the tool (default: build).
set -euo pipefail
portolan=${BUILD:-build}/portolan
results=validate/results
made=$(mktemp -d)
trap 'rm -r "$made"' EXIT

fit() { # MACHINE NUMBERS... -> $made/fitted.yaml
    local machine=$1
    shift
    awk -F, -v keep=" $* " '!/^nccl_/ || index(keep, " " $5 " ")' "$results/$machine/samples-nccl.csv" >"$made/samples.csv"
    "$portolan" fit "$made/samples.csv" "$results/$machine/samples-ping_pong.csv" --name fitted \
        --node sockets=1 --node gpus=4 --node cores=64 --out "$made/fitted.yaml" --force
}

# Sizes with five samples or more: COLLECTIVE,GPUS,BYTES,SECONDS.
medians() { # MACHINE NUMBERS...
    local machine=$1
    shift
    grep ^nccl_ "$results/$machine/samples-nccl.csv" | sort -t, -k1,1 -k5,5n -k7,7n -k9,9g |
        awk -F, -v keep=" $* " '
            function done() { if (n >= 5) printf "%s,%s\n", last, n % 2 ? t[(n + 1) / 2] : (t[n / 2] + t[n / 2 + 1]) / 2 }
            index(keep, " " $5 " ") {
                key = substr($1, 6) "," $5 "," $7
                if (key != last) { done(); n = 0 }
                last = key; t[++n] = $9
            }
            END { done() }'
}

predicted() { # NUMBER...: COLLECTIVE,GPUS,BYTES,SECONDS,LOW,HIGH
    local gpus collective
    for gpus in "$@"; do
        for collective in allreduce reduce broadcast alltoall allgather; do
            "$portolan" predict --machine "$made/fitted.yaml" --collective "$collective" --nodes 1 \
                --gpus-per-node "$gpus" --procs-per-gpu 1 --bytes 4:64MiB:2 --strategy nccl --format csv 2>/dev/null |
                awk -F, -v at="$collective,$gpus" '$4 == "nccl" && $6 != "" { print at "," $1 "," $6 "," $7 "," $8 }' || true
        done
    done
}

row() { # FITTED-MACHINE "NUMBERS" SCORED-MACHINE NUMBER NEAREST: the last is the fitted number without a model
    local fitted=$1 from=$2 scored=$3 to=$4 nearest=$5
    fit "$fitted" $from
    awk -F, -v to="$to" '
        function share(a, b) { return a > b ? a / b - 1 : 1 - a / b }
        NF == 6 { seconds[$1 $2 " " $3] = $4; low[$1 $2 " " $3] = $5; high[$1 $2 " " $3] = $6; next }
        NF == 5 { nearest[$1 " " $3] = $4; next }
        $1 $2 " " $3 in seconds {
            key = $1 $2 " " $3
            print share(seconds[key], $4), share(nearest[$1 " " $3], $4), low[key] <= $4 && $4 <= high[key]
        }
    ' <(predicted "$to") <(predicted "$nearest" | cut -d, -f1-5) <(medians "$scored" "$to") >"$made/errors"
    printf '| %s, %s GPUs; %s, %s GPUs | %d | %s | %s | %.0f %% |\n' "$fitted" "${from// /, }" "$scored" "$to" \
        "$(wc -l <"$made/errors")" "$(quantiles 1)" "$(quantiles 2)" "$(awk '{ n += $3 } END { print 100 * n / NR }' "$made/errors")"
}

quantiles() { # COLUMN: the median and the 90th percentile
    sort -g -k"$1","$1" "$made/errors" |
        awk -v column="$1" '{ e[NR] = $column } END { printf "%.0f %%, %.0f %%", 100 * e[int(NR / 2 + 0.5)], 100 * e[int(0.9 * NR + 0.5)] }'
}

echo "| fitted on; scored on | sizes | error median, 90th | the nearest number of GPUs unchanged | intervals hold |"
echo "| --- | --- | --- | --- | --- |"
row h200-x2 "2" h200-x2 2 2
row h200-x4 "2 3 4" h200-x4 4 4
row h200-x2 "2" h200-x4 2 2
row h200-x2 "2" h200-x4 3 2
row h200-x2 "2" h200-x4 4 2
row h200-x4 "2" h200-x4 4 2
row h200-x4 "2 3" h200-x4 4 3
row h200-x4 "3 4" h200-x4 2 3
row h200-x4 "3 4" h200-x2 2 3
row h200-x4 "2 3 4" h200-x2 2 2
