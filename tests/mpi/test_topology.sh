#!/usr/bin/env bash
# portolan-calibrate --topology: of nodes recorded by hwloc, and of "this" one with a made-up NVML; what it refuses.
# BUILD: where portolan-calibrate was built (default build). Needs no mpirun.
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/shell.sh
calibrate=$build/portolan-calibrate portolan=$build/portolan
built "$calibrate" "$portolan" "$build/tests/fake_nvml/libnvidia-ml.so.1"

recorded() { "$calibrate" --topology --from "$1" --out "$2" --force 2>"$work/stderr"; }
# route FILE FROM TO: the GB/s of the slowest link, how many links, and what is between
route() {
    "$portolan" topology "$1" --format csv |
        awk -F, -v from="$2" -v to="$3" '$1 == from && $2 == to { printf "%.3g %d %s\n", 1e-9 / $4, $3, $5 }'
}

same_links() { diff <(grep between: "$1") <(grep between: "$2"); }

# --- a PCI tree

check "a recorded node is read" recorded tests/fixtures/node.xml "$work/node.yaml"
check "two GPUs meet in their switch" test "$(route "$work/node.yaml" gpu.0 gpu.1)" = "15.8 2 switch.0"
check "root ports meet in the socket" test "$(route "$work/node.yaml" gpu.2 gpu.3)" = "15.8 2 socket.1"
check "the switch leads to the other socket" \
    test "$(route "$work/node.yaml" gpu.0 gpu.2)" = "15.8 4 switch.0 socket.0 socket.1"
check "a link has the rate of its slower end" test "$(route "$work/node.yaml" nic.0 gpu.0)" = "7.87 2 switch.0"
check "a rate that hwloc does not know is inferred" has "gpu.3, socket.1.*# PCIe, inferred" "$work/node.yaml"
check "so is that between the sockets" has "socket.0, socket.1.*# inferred" "$work/node.yaml"
check "its devices are counted" has "^devices: {gpus: 4, sockets: 2, nics: 1}$" "$work/node.yaml"
check "each link is told once" test "$(grep -c 'between: ' "$work/node.yaml")" = 7
check "each GPU has its address" has "^# gpu.3: 0000:82:00.0$" "$work/node.yaml"
check "the file that it is from is its source" has '^source: "hwloc, from tests/fixtures/node.xml"$' "$work/node.yaml"
check "--machine names it" has '^topology: "mine"' <("$calibrate" --topology --from tests/fixtures/node.xml --machine mine)

# --- NICs by class and vendor, links of idle GPUs

# nics DEVICE CLASS SPEED: how many NICs the node has whose NIC is this device
nics() {
    sed "s/0207 \[15b3:1017\]/$2 [$1]/; s/\(0207\|0200\) \[15b3:[0-9a-f]*\]/$2 [$1]/; /\[$1\]/s/pci_link_speed=\"[0-9.]*\"/pci_link_speed=\"$3\"/" \
        tests/fixtures/node.xml >"$work/nic.xml"
    recorded "$work/nic.xml" "$work/nic.yaml" && sed -n 's/^devices: .*nics: \([0-9]*\).*/\1/p' "$work/nic.yaml"
}
check "Slingshot's NIC is one" test "$(nics 17db:0501 0200 15.75)" = 1
check "Amazon's EFA is one" test "$(nics 1d0f:efa1 0200 15.75)" = 1
check "Amazon's ENA is none" test "$(nics 1d0f:ec20 0200 15.75)" = 0
check "but is told of" has "^# left out: network device 0000:05:00.0 \[1d0f:ec20\]" "$work/nic.yaml"
check "Omni-Path's NIC is one" test "$(nics 8086:24f0 0208 15.75)" = 1
check "a fast NIC of Broadcom is one" test "$(nics 14e4:1750 0200 15.75)" = 1
check "its Ethernet for management is none" test "$(nics 14e4:165f 0200 0.5)" = 0
check "Intel's Ethernet is none" test "$(nics 8086:1521 0200 2.0)" = 0
sed 's/\(\[10de:.*\)pci_link_speed="[0-9.]*"/\1pci_link_speed="2.0"/' tests/fixtures/node.xml >"$work/idle.xml"
check "a node of idle GPUs is read" recorded "$work/idle.xml" "$work/idle.yaml"
check "its sockets are joined as fast as its NIC" test "$(route "$work/idle.yaml" socket.0 socket.1)" = "7.87 1 "
sed 's/topology version="2.0"/topology version="3.0"/' tests/fixtures/node.xml >"$work/three.xml"
check "a file of hwloc 3 is read" recorded "$work/three.xml" "$work/three.yaml"
check "as one of hwloc 2 is" same_links "$work/three.yaml" "$work/node.yaml"
check "so is NCCL's" recorded tests/fixtures/nccl.xml "$work/nccl.yaml"
check "whose source it names" has '^source: "NCCL;' "$work/nccl.yaml"

check "so are random trees" python3 -B tests/mpi/topology_trees.py "$calibrate" "$build/tests/fake_nvml" "$work"

# --- NVLinks, by a made-up NVML on a made-up machine

check "this machine is read" env HWLOC_XMLFILE=tests/fixtures/node.xml HWLOC_THISSYSTEM=1 \
    LD_LIBRARY_PATH="$build/tests/fake_nvml" "$calibrate" --topology --out "$work/nvml.yaml"
check "both libraries are its source" has '^source: "hwloc and NVML"$' "$work/nvml.yaml"
check "NVLinks of a pair are one link" test "$(route "$work/nvml.yaml" gpu.0 gpu.1)" = "50 1 "
check "all NVSwitches are one vertex" test "$(route "$work/nvml.yaml" gpu.2 gpu.3)" = "150 2 nvswitch.0"
check "other pairs go over PCIe" test "$(route "$work/nvml.yaml" gpu.1 gpu.3)" = "15.8 4 switch.0 socket.0 socket.1"
check "common ancestors are compared" has "agree for 5 of 6 pairs" "$work/nvml.yaml"
check "one that differs is named" \
    has "^# gpu.1 and gpu.3 meet in the host bridge by NVML, in the node by hwloc" "$work/nvml.yaml"

# --- real machines, from hwloc's own tests (tests/hwloc/xml of its source), where PORTOLAN_TOPOLOGIES names a folder

folder=${PORTOLAN_TOPOLOGIES:-}
if [ -f "$folder/nvidiaDGX2.xml" ] && [ -f "$folder/power8gpudistances.xml" ]; then
    check "a DGX-2 is read" recorded "$folder/nvidiaDGX2.xml" "$work/dgx-2.yaml"
    check "its boards are not apart" test "$(route "$work/dgx-2.yaml" gpu.0 gpu.15)" = "150 2 nvswitch.0"
    check "it reaches the host over two switches, as the recorded topology says" \
        test "$(route "$work/dgx-2.yaml" gpu.2 socket.0 | cut -d' ' -f1,2)" = \
        "$(route scenarios/topologies/dgx-2.yaml gpu.2 socket.0 | cut -d' ' -f1,2)"
    check "a POWER8 is read" recorded "$folder/power8gpudistances.xml" "$work/power8.yaml"
    check "its GPUs have NVLinks to their socket" test "$(route "$work/power8.yaml" gpu.3 socket.1)" = "40 1 "
    check "and to each other in pairs" test "$(route "$work/power8.yaml" gpu.2 gpu.3)" = "40 1 "
else
    echo "$test_name: PORTOLAN_TOPOLOGIES has no nvidiaDGX2.xml and power8gpudistances.xml: skipped"
fi

# --- what is refused

: >"$work/empty.xml"
check "a file that is none" exits 1 recorded "$work/empty.xml" "$work/none.yaml"
check "is named" has "empty.xml:1:1: malformed XML"
sed 's/10de:1db8/102b:0522/' tests/fixtures/node.xml >"$work/no-gpu.xml"
check "a node without GPUs" exits 1 recorded "$work/no-gpu.xml" "$work/none.yaml"
check "is said to have none" has "no-gpu.xml:.*no GPU in it"
check "a file that exists" exits 1 "$calibrate" --topology --from tests/fixtures/node.xml --out "$work/node.yaml" 2>/dev/null
check "--from without --topology" exits 2 "$calibrate" --from tests/fixtures/node.xml 2>/dev/null
check "nothing is left behind" fails test -e "$work/none.yaml"
finish
