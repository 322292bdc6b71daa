#!/usr/bin/env bash
# What the MPI library's own collectives tell of it: measured by portolan-calibrate on host and on emulated GPU memory,
# inferred by portolan fit where the library is unknown, and compared where it is known. Times are the busy machine's: what
# they tell is not checked, but that each row is certain or says why not.
# BUILD: where the programs were built (default build). Exits 77 where there is no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
. tests/calibrate_runs.sh
needs mpirun
portolan=$build/portolan
built "$calibrate" "$portolan"
export PORTOLAN_EMULATED_GPUS=2

check "the library's collectives are measured" run 2 --only ping_pong,ping_pong_to,memcpy,reduce,library --bytes 256:1MiB \
    --budget 6000 --repeats 5 --out "$work/samples.csv"
# rows SPACE: the collectives, with their sizes
rows() {
    awk -F, -v space="$1" '$1 ~ /^mpi_/ && $2 == space && $5 == 2 && $6 == 1 && !seen[$1, $7]++ { sizes[$1] = sizes[$1] " " $7 }
        END { for (name in sizes) print name sizes[name] }' "$work/samples.csv" | sort
}
for name in allgather allgatherv allreduce alltoall alltoallv broadcast gather reduce reduce_scatter scatter; do
    echo "mpi_$name 256 16384 1048576"
done >"$work/expected"
for space in cpu gpu; do
    rows $space >"$work/rows"
    check "three sizes of each on $space buffers" diff "$work/expected" "$work/rows"
done

# fitted NAME MPI: of samples with this line `mpi=`
fitted() {
    sed "s/^# mpi=.*/# mpi=$2/" "$work/samples.csv" >"$work/$1.csv"
    quietly "$portolan" fit "$work/$1.csv" --name "$1" --node cores=2,gpus=2,sockets=1 --out "$work/$1.yaml" --report
}
check "what they tell of an unknown library is fitted" fitted unknown "Some MPI 1.0"
tables() { # FILE: COLLECTIVE.SPACE of each table
    awk '/^library:/ { on = 1; next } /^[a-z]/ { on = 0 } on && /^  [a-z]/ { name = $1 } on && /^    [a-z]/ { print name $2 $1 }' "$1" | tr -d : | sort
}
sed 's/mpi_\([a-z_]*\) .*/\1cpu\n\1gpu/' "$work/expected" | sort >"$work/wanted"
tables "$work/unknown.yaml" >"$work/tables"
check "as a table of each in both spaces" diff "$work/wanted" "$work/tables"
check "whose rows are certain or say why not" awk '
    /^library:/ { on = 1; next } /^[a-z]/ { on = 0 }
    on && /algorithm:/ { rows++; if (/flagged:/ && !/flagged: "(its times of [0-9]+ bytes (do not tell which: |are a factor of )|[a-z_]+( staged)? up to a size from )/) bad = 1 }
    END { exit bad || rows < 20 }' "$work/unknown.yaml"
check "and the file tells of how many samples" has "^# library.allreduce.gpu: inferred from [0-9]* times of the library's own call among up to 2 processes" "$work/unknown.yaml"
# Their times on a loaded machine can be too far off any line, and fit then leaves them out; fitted are times on a line.
sed 's/^# mpi=.*/# mpi=Some MPI 1.0/' "$work/samples.csv" |
    awk -F, -v OFS=, '$1 == "ping_pong_to" { $9 = 2e-5 + $7 * 1e-9 } { print }' >"$work/line.csv"
check "messages from one memory to the other on a line" quietly "$portolan" fit "$work/line.csv" --name line \
    --node cores=2,gpus=2,sockets=1 --out "$work/line.yaml"
for to in cpu gpu; do
    check "messages to $to memory from the other are measured" awk -F, -v to=$to '$1 == "ping_pong_to" && $2 == to { n++ } END { exit !n }' "$work/samples.csv"
    check "and fitted" quietly "$portolan" predict --machine "$work/line.yaml" --collective allreduce --nodes 1 --bytes 1KiB \
        --what-if "messages.to.$to.on_socket.rendezvous.alpha_s=1"
done
check "the file loads" quietly "$portolan" predict --machine "$work/unknown.yaml" --collective allreduce --nodes 1 --bytes 1KiB:1MiB:32
check "a known library keeps its tables" fitted known "Open MPI v4.1.4"
check "which the file names" has "^mpi_library: open-mpi-4.1$" "$work/known.yaml"
check "in the place of others" test -z "$(tables "$work/known.yaml")"

finish
