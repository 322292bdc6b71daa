#!/usr/bin/env bash
# accuracy.sh: print the rows of docs/validation/held-out.csv on cells that nothing was fitted to, with every
# baseline's regret. It fits Summit's and Lassen's machines to each of their node counts (9 s in all).
#
# PORTOLAN_SHARED has data/ (default: ../shared), BUILD the tool (default: build), KEEP a folder for the machine
# files (default: a temporary one). Rows whose data are missing are left out.
set -euo pipefail
portolan=${BUILD:-build}/portolan
data=${PORTOLAN_SHARED:-../shared}/data
results=validate/results
made=${KEEP:-$(mktemp -d)}
[[ -n ${KEEP:-} ]] || trap 'rm -r "$made"' EXIT
declare -A folder=([summit]=$data/summit-spectrum [lassen]=$data/lassen-spectrum-2020) other=([summit]=lassen [lassen]=summit)

fit() { # NAME MACHINE [OPTION...]
    local name=$1 machine=$2
    shift 2
    "$portolan" fit "${folder[$machine]}/samples.csv" --node cores=40 --name "$name" \
        --out "$made/$name.yaml" --force "$@"
}

lend() { # NAME FILE [OPTION...]: NAME.yaml as a lender of its error on these cells
    local name=$1 file=$2
    shift 2
    sed '/^model_error:/,$d' "$made/$name.yaml" >"$made/$name.lent.yaml"
    "$portolan" score --machine "$made/$name.yaml" "$file" --model-error "$@" >>"$made/$name.lent.yaml"
}

row() { # NAME OPTION...: one row, from the summary over all cells
    local name=$1
    shift
    "$portolan" score "$@" --baselines --format csv | awk -F, -v name="$name" '
        function percent(part, whole) { return whole > 0 ? sprintf("%.0f %%", 100 * part / whole) : "-" }
        $1 != "all" { next }
        $4 == "model" {
            head = sprintf("| %s | %.1f %% (%d) | %.1f %% | %.0f %%, %.0f %% | %s |", name, 100 * $9 / $8, $8, 100 * $11,
                100 * $15, 100 * $16, percent($18, $17))
            ties = sprintf(" %d, %s; %s |", $10, percent($19, $10), percent($20, $6 - $10)); cells = $6
        }
        $4 == "floor" { floor = sprintf(" %.1f %% |", 100 * $11) }
        $4 == "always" && $6 == cells && (always == "" || $11 < least) { least = $11; always = $5 }
        $4 != "model" && $4 != "floor" && $4 != "always" { baselines = baselines sprintf("%.1f ", 100 * $11) }
        END {
            printf "%s%s%s %s | %s %.1f |\n", head, ties, floor, baselines == "" ? "-" : baselines, always, 100 * least
        }'
}

have() { [[ -r ${folder[summit]}/collectives.csv && -r ${folder[lassen]}/collectives.csv ]]; }

print_head() {
    echo "| fitted on, scored on | clear right (cells) | mean regret | error median, 90th | intervals hold | near-ties: number, within 10 %; others right | floor | nearest, affine, log, neighbors, residual | always |"
    echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
}

fit_all() {
    local machine file
    for machine in lassen summit; do
        file=${folder[$machine]}/collectives.csv
        fit "$machine-lent" "$machine" --collectives "$file" --train nodes=2
        lend "$machine-lent" "$file" --train nodes=2
        fit "$machine-alone" "$machine"
        lend "$machine-alone" "$file"
    done
    for machine in summit lassen; do
        file=${folder[$machine]}/collectives.csv
        for nodes in 2 8; do
            fit "$machine-$nodes" "$machine" --collectives "$file" --train "nodes=$nodes" \
                --borrow "$made/${other[$machine]}-lent.lent.yaml"
        done
        fit "$machine-samples" "$machine" --borrow "$made/${other[$machine]}-alone.lent.yaml"
    done
    fit lassen-borrowed lassen --borrow "${SUMMIT:-scenarios/machines/summit-spectrum-refit.yaml}"
}

# Machines from datasheets, on the rows of one process a GPU and on all. Starts of messages that `machine new` guesses
# span those of both machines' samples; nothing is from their collectives. MPS ran on Summit and not on Lassen, which
# their users know. Summit's error is Lassen's: the one that `machine new` writes is Summit's own.
fit_sheets() {
    "$portolan" machine new --name summit-sheet --sockets 2 --cores 40 --gpus 6 --gpu-link '50 GB/s' --gpu-topology switch \
        --host-link '50 GB/s' --nics 2 --nic '100 Gbit/s' --gpu-memory 16GiB --mps yes --out "$made/summit-sheet.yaml" --force
    "$portolan" machine new --name lassen-sheet --sockets 2 --cores 40 --gpus 4 --gpu-link '75 GB/s' --gpu-topology switch \
        --host-link '75 GB/s' --nics 2 --nic '100 Gbit/s' --gpu-memory 16GiB --mps no --out "$made/lassen-sheet.yaml" --force
    sed -i '/^model_error:/,$d' "$made/summit-sheet.yaml"
    "$portolan" score --machine "$made/lassen-alone.yaml" "${folder[lassen]}/collectives.csv" --model-error \
        --train nodes=2 >>"$made/summit-sheet.yaml"
    local machine mpi
    for machine in summit lassen; do
        awk -F, '/^#/ || /^collective,/ || $6 == 1' "${folder[$machine]}/collectives.csv" >"$made/one.csv"
        for mpi in '' spectrum-mpi; do
            row "${machine^}'s datasheets, one process a GPU, library ${mpi:-unknown}" \
                --machine "$made/$machine-sheet.yaml" ${mpi:+--mpi "$mpi"} "$made/one.csv"
            row "${machine^}'s datasheets, all rows, library ${mpi:-unknown}" \
                --machine "$made/$machine-sheet.yaml" ${mpi:+--mpi "$mpi"} "${folder[$machine]}/collectives.csv"
        done
    done
}

print_head
if have; then
    fit_all
    for machine in summit lassen; do
        file=${folder[$machine]}/collectives.csv
        row "${machine^} 2 nodes, 8 nodes" --machine "$made/$machine-2.yaml" "$file" --train nodes=2 --test nodes=8
        row "${machine^} 8 nodes, 2 nodes" --machine "$made/$machine-8.yaml" "$file" --train nodes=8 --test nodes=2
    done
    row "Summit's collectives + Lassen's samples, Lassen" --machine "$made/lassen-borrowed.yaml" \
        "${folder[lassen]}/collectives.csv" --train-file "${folder[summit]}/collectives.csv"
    fit_sheets
    for machine in summit lassen; do
        row "${machine^}'s samples, ${machine^}" --machine "$made/$machine-samples.yaml" "${folder[$machine]}/collectives.csv"
    done
else
    echo "no measured collectives in $data: rows of Summit and Lassen left out" >&2
fi
for machine in h200-x2 h200-x4 h200-2x2-tcp; do
    row "$machine's samples, $machine" --machine "scenarios/machines/$machine.yaml" "$results/$machine/collectives.csv"
done

# Runs that are not waited for. Those of the second visit lend runs in graphs the error of the shipped file, so the row that
# is scored on them borrows it from the first. Enqueued runs borrow it from the first visit's.
runs() { # NAME MACHINE CSV
    row "$2's samples, $1" --machine "scenarios/machines/$2.yaml" "$results/h200-x2/collectives-runs-$3.csv"
}
runs "runs in graphs of the same visit" h200-x2-graph graph
runs "enqueued runs" h200-x2-enqueued enqueued
runs "enqueued runs of bound processes" h200-x2-enqueued enqueued-bound
runs "runs in graphs of 24 November" h200-x2-graph graph-1
cp scenarios/machines/h200-x2.yaml scenarios/machines/h200-x2-graph.yaml "$made"
lend h200-x2-graph "$results/h200-x2/collectives-runs-graph-1.csv"
row "h200-x2-graph's samples, runs in graphs on another host" --machine "$made/h200-x2-graph.lent.yaml" \
    "$results/h200-x2/collectives-runs-graph-2.csv"

# Samples of two nodes and the library's table; or no table, and the collectives of two nodes.
host_nodes=$results/host-nodes-tcp
"$portolan" fit "$host_nodes"/samples*.csv --name host-nodes-2 --node sockets=1 --node cores=2 \
    --collectives "$host_nodes/collectives.csv" --train nodes=2 --out "$made/host-nodes-2.yaml" --force
more_nodes=("$host_nodes/collectives.csv" --train nodes=2 --test nodes=4,6,8)
row "host-nodes-tcp (2 nodes' samples and the library's table), 4 to 8 nodes" \
    --machine scenarios/machines/host-nodes-tcp.yaml "${more_nodes[@]}"
row "2 nodes' samples and collectives, 4 to 8 nodes" --machine "$made/host-nodes-2.yaml" "${more_nodes[@]}"

# The same behind slow links, where the host that all nodes share costs little.
delayed=$results/host-nodes-tcp-delay
"$portolan" fit "$delayed"/samples*.csv --name host-nodes-delay --node gpus=0 --node sockets=1 --node cores=2 \
    --borrow scenarios/machines/host-nodes-tcp.yaml --out "$made/host-nodes-delay.yaml" --force
row "host-nodes-tcp-delay (2 nodes' samples and the library's table), 3 to 8 nodes" --machine "$made/host-nodes-delay.yaml" \
    "$delayed/collectives.csv" --train nodes=2 --test nodes=3,4,6,8
