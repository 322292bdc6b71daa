# Files given to a command that does not read them are named, with the command that does; what a log holds besides its
# rows is counted by all commands that read it.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
try() { portolan "$@" 2>&1 | sed "s|$dir/||g"; echo "  exit ${PIPESTATUS[0]}"; }
fit() { try fit "$@" --name fitted --out "$dir/fitted.yaml"; }
score() { try score --machine dgx-h100 "$@"; }
osu() { printf '# OSU %s Latency Test v7.4\n# Size       Avg Latency(us)\n1024    %s\n2048    %s\n\n' "$1" "$2" "$3"; }
{ osu "MPI-CUDA Allreduce" 11 12; osu "MPI Allreduce" 9 10; osu "MPI-CUDA Gatherv" 7 8
    printf '# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n   5.10\n'; } >"$dir/osu.txt"
osu "MPI Barrier" 5 6 >"$dir/barrier.txt"
osu "NCCL-CUDA Allreduce" 13 nan >"$dir/nccl.txt"
samples=tests/fixtures/samples.csv
# GPU buffers, host buffers and a barrier in one log: each has its strategy.
score "$dir/osu.txt:1x2" "$dir/nccl.txt:1x2" --cells
fit $samples --collectives "$dir/osu.txt:1x2" 2>&1 | grep '^#'
# What stands behind the name.
score "$dir/osu.txt:1x2:allfoo"
score "$dir/osu.txt:2"
score "$dir/osu.txt:2:allreduce"
score "$dir/gone.txt:2"
# Another command's file.
score "$dir/osu.txt"
score "$dir/barrier.txt"
score $samples
score tests/fixtures/report.csv
fit "$dir/osu.txt"
fit "$dir/osu.txt:1x2"
fit "$dir/barrier.txt"
fit tests/fixtures/collectives.csv
fit tests/fixtures/report.csv
try replay --machine dgx-h100 $samples
try replay --machine dgx-h100 tests/fixtures/collectives.csv
try replay --machine dgx-h100 "$dir/osu.txt:1x2"
try replay --machine dgx-h100 "$dir/osu.txt" --from nccl-tests
