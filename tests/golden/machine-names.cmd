# A machine by its name: --machine and a scenario's `machine:` look beside the scenario, in scenarios/machines and in the installation.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
scenario() { printf 'scenario: s\nmachine: %s\ncollective: alltoall\nlayout: {nodes: 2}\nbytes: 64\nstrategies: [three_step]\n' "$1" >"$dir/s.yaml"; }
try() { portolan predict "$@" 2>&1 | sed "s|$dir/||g; s|\(scenarios/machines/no-such-machine.yaml\).*;|\1, ...;|" | grep -v '^# [lBn]'; }
scenario summit-spectrum
try "$dir/s.yaml"
# The one beside the scenario comes first.
sed 's/^machine:.*/machine: beside/' scenarios/machines/summit-spectrum.yaml >"$dir/summit-spectrum.yaml"
try "$dir/s.yaml"
scenario no-such-machine
try "$dir/s.yaml"
try "$dir/s.yaml" --machine summit-spectrum
try "$dir/s.yaml" --machine no-such-machine
scenario ../no/such/machine.yaml
try "$dir/s.yaml"
# Its MPI library, where neither this program's folders nor that of the machine have it: in the folder libraries/ beside.
mkdir "$dir/machines" "$dir/libraries"
sed 's/^machine:.*/machine: beside\nmpi_library: own-mpi/' scenarios/machines/summit-spectrum.yaml >"$dir/machines/named.yaml"
try "$dir/s.yaml" --machine "$dir/machines/named.yaml" | head -1
cp scenarios/libraries/open-mpi-4.1.yaml "$dir/libraries/own-mpi.yaml"
try "$dir/s.yaml" --machine "$dir/machines/named.yaml" | head -1
