# A topology may be asked for by a machine that has one.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
{ cat scenarios/machines/summit-spectrum.yaml; echo "topology: $PWD/scenarios/topologies/summit.yaml"; } >"$dir/machine.yaml"
portolan topology "$dir/machine.yaml" | head -2
portolan topology summit-spectrum 2>&1
echo "exit $?"
