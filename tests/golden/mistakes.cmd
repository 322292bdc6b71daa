# What people get wrong first: the error names the option and what was probably meant, and nothing is guessed.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
try() { local status=0; "$@" 2>&1 | sed "s|$dir/||g" || true; status=${PIPESTATUS[0]}; echo "  exit $status"; }
first() { "$@" 2>&1 | sed -n '/^# Bytes/,/^[0-9]/p'; }
new() { portolan machine new --name mine --gpus 2 --cores 16 --host-link pcie4 "$@"; }
on_summit() { portolan predict --machine summit-spectrum --collective alltoall --nodes 2 --bytes 1KiB "$@"; }
# Sizes without a unit, and rates as NICs are sold.
try new --gpu-memory 80
try new --gpu-memory 81559
try new --host-memory 1KiB
for rate in NDR NDR200 400G '400 Gb/s'; do new --nic "$rate" | grep '^# of a NIC'; done
for rate in 400 '400 X' NDR9; do try new --nic "$rate"; done
try new --gpu-link nvlink-4
# Names that are empty, doubled or misspelled.
try on_summit --strategy ''
try on_summit --strategy=
try on_summit --strategy three_step,
first on_summit --strategy three_step,three_step --strategy three_step
try portolan upgrade scenarios/workloads/fft-3d.yaml --only ''
try on_summit --collective alltoal
try on_summit --machine summit-spectrm
try portolan topology dgx1
try portolan list strategy
try portolan run --machine summit-spectrum --strategy nope -- true
try portolan run --machine summit-spectrum --library "$dir/none.so" -- true
try env -u PORTOLAN_MACHINE portolan run -- true
# - is standard output, except where that has a table.
new --out - | head -1; test ! -e - && echo "no file called -"
portolan fit tests/fixtures/samples.csv --name mine --out - | grep ^machine:
portolan export --for openmpi-4.1 --machine lassen-spectrum-refit --nodes 2 --bytes 4:64 --out - | head -1 | cut -d, -f1-2
try portolan fit tests/fixtures/samples.csv --name mine --out - --report
try portolan simulate --machine summit-spectrum --collective alltoall --nodes 2 --bytes 4 --strategy three_step --trace -
try portolan map --machine summit-spectrum --collective alltoallv --nodes 2 --bytes 1KiB --out -
# A folder called as a machine.
mkdir "$dir/summit-spectrum"
on=$PWD; (export PATH="$(cd "$(dirname "$(command -v portolan)")" && pwd):$PATH" PORTOLAN_DATA=$on/scenarios; cd "$dir"
first portolan predict --machine summit-spectrum --collective alltoall --nodes 2 --bytes 1KiB --strategy three_step)
try on_summit --machine "$dir/summit-spectrum"
# Layouts: the error names the option.
try portolan predict --machine summit-spectrum --collective halo --nodes 2 --dims 4x3
try on_summit --dims 4x3
try on_summit --halo 2
try on_summit --memory host --gpus-per-node 2
try on_summit --procs-per-node 2
try portolan predict --machine summit-spectrum --collective pair --nodes 2 --bytes 8
try portolan step scenarios/workloads/fft-3d.yaml --nodes 3
# What has no effect, or nothing to do.
try on_summit --explain --bandwidth bus
try portolan tune --machine h200-x2 --procs-per-gpu 1
# A collective without data.
portolan predict --machine summit-spectrum --collective broadcast --nodes 2 --bytes 0 --strategy cuda_aware,three_step | tail -3
# A value that was edited without its interval.
new | sed 's/alpha_s: 9e-06/alpha_s: 9e-05/' >"$dir/edited.yaml"
try on_summit --machine "$dir/edited.yaml"
