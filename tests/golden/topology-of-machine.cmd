# A topology may be asked for by a machine that has one.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
{ cat scenarios/machines/summit-spectrum.yaml; echo "topology: $PWD/scenarios/topologies/summit.yaml"; } >"$dir/machine.yaml"
portolan topology "$dir/machine.yaml" | head -2
portolan topology summit-spectrum 2>&1
echo "exit $?"
# A machine names its topology as users do: by name or by path; what is not found is said at its place.
for named in summit sumit gone.yaml; do
    { cat scenarios/machines/summit-spectrum.yaml; echo "topology: $named"; } >"$dir/machine.yaml"
    portolan topology --machine "$dir/machine.yaml" 2>&1 | head -2 | sed "s,$dir/,,g"
    portolan topology "$dir/machine.yaml" 2>&1 | head -2 | sed "s,$dir/,,g"
done
portolan predict --machine "$dir/machine.yaml" --collective alltoall --nodes 2 --bytes 64 2>&1 | sed "s,$dir/,,g"
# What is wrong with a file is said of what it is meant as.
for edit in 's/alpha_s/alpha/' 's/^node:/nodes:/'; do
    sed "$edit" scenarios/machines/summit-spectrum.yaml >"$dir/bad.yaml"; portolan topology "$dir/bad.yaml" 2>&1 | sed "s,$dir/,,"
done
for edit in 's/^links:/link:/' 's/^devices:/- 1/'; do
    sed "$edit" scenarios/topologies/summit.yaml >"$dir/bad.yaml"; portolan topology "$dir/bad.yaml" 2>&1 | sed "s,$dir/,,"
done
echo '- machine' >"$dir/bad.yaml"; portolan topology "$dir/bad.yaml" 2>&1 | sed "s,$dir/,,"
portolan topology sumit 2>&1
