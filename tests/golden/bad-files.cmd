# Scenario and machine files that are wrong: file:line:column: message, exit 1, nothing on standard output.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cp scenarios/machines/summit-spectrum.yaml "$dir/machine.yaml"
try() {
    local out status=0
    out=$(cd "$dir" && portolan predict scenario.yaml 2>err) || status=$?
    cat "$dir/err"; echo "  exit $status, ${#out} bytes on standard output"
}
scenario() { printf '%b' "$1" >"$dir/scenario.yaml"; try; }
good='scenario: s\nmachine: machine.yaml\ncollective: alltoall\nlayout: {nodes: 2}\n'
scenario "$good"'bytes: [4, 8\n'
scenario "$good"'bytes: 4\nbytes: 8\n'
scenario "$good"'bytes: 4\nstrategys: [three_step]\n'
scenario "$good"'bytes: many\n'
scenario "$good"'bytes: -4\n'
scenario "$good"'bytes: 99999999999999999999\n'
scenario "$good"'bytes: {from: 4, to: 64, factor: 1}\n'
scenario "$good"'bytes: {from: 4, until: 64}\n'
scenario "$good"
scenario 'scenario: s\nmachine: gone.yaml\ncollective: alltoall\nlayout: {nodes: 2}\nbytes: 4\n'
scenario 'scenario: s\nmachine: machine.yaml\ncollective: alltoal\nlayout: {nodes: 2}\nbytes: 4\n'
scenario 'scenario: s\nmachine: machine.yaml\ncollective: alltoall\nlayout: {nodes: 0}\nbytes: 4\n'
scenario 'scenario: s\nmachine: machine.yaml\ncollective: alltoall\nlayout: {nodes: 2, gpus_per_node: 9}\nbytes: 4\n'
scenario "$good"'bytes: 4\nstrategies: [three_stpe]\n'
scenario "$good"'bytes: 4\nlibrary: [{below_bytes: 64, algorithm: bruck}, {below_bytes: 32, algorithm: linear}, {algorithm: pairwise}]\n'
machine() { sed "$1" scenarios/machines/summit-spectrum.yaml >"$dir/machine.yaml"; scenario "$good"'bytes: 4\n'; }
machine 's/alpha_s: 1.38e-6/alpha_s: -1.38e-6/; s/alpha_s: 1.38e-06/alpha_s: -1.38e-06/'
machine 's/alpha_s: 1.85e-0*6/alpha_s: .nan/'
machine 's/alpha_s: 6.56e-0*6/alpha_s: 1e400/'
machine 's/below_bytes: 16384/below_bytes: 200/'
machine 's/^injection:/injektion:/'
machine 's/^node:.*/node: {sockets: 2, gpus: 6}/'
