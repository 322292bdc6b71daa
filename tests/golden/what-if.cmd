# One run with other parameters: said above the table, in csv and in json.
portolan predict scenarios/problems/alltoall-summit.yaml --bytes 1024:4096 --what-if 'copies.h2d.on_socket.alpha_s=*3' --what-if nodes=/2 --what-if messages.cpu.off_node.eager.below_bytes=64KiB
portolan predict scenarios/problems/alltoall-summit.yaml --bytes 1024 --strategy three_step --what-if procs_per_gpu=3 --model published --format csv
portolan predict scenarios/problems/alltoall-summit.yaml --bytes 1024 --strategy three_step --what-if procs_per_gpu=3 --what-if nodes=4 --model published --format json
portolan pick scenarios/problems/alltoall-summit.yaml --what-if injection.cpu.s_per_byte=/4
portolan pick scenarios/problems/alltoall-summit.yaml --what-if injection.cpu.s_per_byte=/4 --format csv
portolan predict scenarios/problems/allreduce-summit.yaml --bytes 1024 --strategy three_step --what-if reduce.cpu.beta_s_per_byte=1e-10 --explain
portolan check scenarios/problems/messages-one-summit.yaml --bytes 64 --what-if nodes=4 | head -2
portolan plan scenarios/problems/messages-one-summit.yaml --bytes 64 --what-if nodes=4 --strategy cuda_aware | head -2
# Numbers with their units, in a machine file too; an interval of rates may be written as people do, the lower rate first.
what_if() { portolan predict scenarios/problems/alltoall-summit.yaml --bytes 64KiB --strategy three_step "$@" | sed -n '/what if/p; /^64 KiB/p'; }
what_if --what-if 'injection.cpu.s_per_byte=400 Gbit/s' --what-if 'copies.h2d.on_socket.alpha_s=5 us'
what_if --what-if injection.cpu.s_per_byte=2e-11 --what-if copies.h2d.on_socket.alpha_s=5e-6
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
sed 's|  cpu: {s_per_byte: 3.0e-11}|  cpu: {s_per_byte: 33 GB/s, s_per_byte_95: [30 GB/s, 36 GB/s]}|' scenarios/machines/summit-spectrum.yaml >"$folder/units.yaml"
portolan predict --machine "$folder/units.yaml" --collective alltoall --nodes 32 --bytes 64KiB --strategy three_step --ci | tail -n 3 | head -2
sed -i 's|36 GB/s|28 ps/B|' "$folder/units.yaml" && portolan pick --machine "$folder/units.yaml" --collective alltoall --nodes 32 --bytes 64 2>&1 | sed 's|.*/||'
portolan pick scenarios/problems/alltoall-summit.yaml --what-if 'injection.cpu.s_per_byte=400 gB' 2>&1
# All parameters that match.
what_if --what-if 'copies.*.beta_s_per_byte=/2'
what_if --what-if 'messages.cpu.off_node.*=/2' --what-if 'injection.*=100 GB/s'
portolan pick scenarios/problems/alltoall-summit.yaml --what-if 'copies.*=5 us' 2>&1
portolan pick scenarios/problems/alltoall-summit.yaml --what-if 'node.*=2' 2>&1
portolan pick scenarios/problems/alltoall-summit.yaml --what-if '*.gamma=2' 2>&1
# Names without their units, where nothing matches with them; what is between nodes is a network's.
what_if --what-if 'copies.*.beta=/2'
what_if --what-if 'network.*.beta=/2'
what_if --what-if 'injection.*.beta=/2' --what-if 'messages.*.off_node.*.beta=/2'
portolan predict scenarios/problems/alltoall-summit.yaml --nodes 2:8:4 --bytes 64KiB --what-if 'network.*.beta=/1:/4' | sed -n '/^# rows/p; /^\//p'
printf 'upgrades:\n  - {name: a network twice as fast, what_if: "network.*.beta=/2"}\n' >"$folder/upgrades.yaml"
portolan upgrade scenarios/problems/alltoall-summit.yaml --bytes 64KiB --upgrades "$folder/upgrades.yaml" | sed -n '/^a network/p'
portolan pick scenarios/problems/alltoall-summit.yaml --what-if 'copies.*.bet=/2' 2>&1
portolan pick scenarios/problems/alltoall-summit.yaml --what-if 'network.*.flag=/2' 2>&1
# The header names what a wildcard means, also beside the machine as it is: here, network.* names a parameter of its own.
for change in 'network.*=/2' 'network.*.beta=/2'; do portolan predict --machine summit-spectrum-refit --collective alltoall --nodes 4 --bytes 64KiB --compare --what-if "$change" --what-if node.cores=44 | sed -n '/^# what if/,/^# layout/p'; done
