# What nvidia-smi topo -m and rocm-smi --showtopo print: NICs near GPUs share their switch; rates are inferred, or given.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
try() { local status=0; portolan topology "$@" 2>&1 || status=$?; echo "  exit $status"; }
try tests/fixtures/nvidia-topo.txt
try tests/fixtures/rocm-topo.txt --format yaml
# Underlined, as on a terminal; eight GPUs with an NVSwitch; without NVLinks; CPUs without NUMA nodes.
sed "1s/GPU[0-9]/$(printf '\033')[4m&$(printf '\033')[0m/g" tests/fixtures/nvidia-topo.txt >"$dir/terminal.txt"
portolan topology "$dir/terminal.txt" --format csv | cmp - <(portolan topology tests/fixtures/nvidia-topo.txt --format csv) && echo "the same"
awk 'BEGIN { for (i = 0; i < 8; i++) head = head " GPU" i; print head, "NIC0 CPU Affinity NUMA Affinity"
    for (i = 0; i < 8; i++) { row = "GPU" i; for (j = 0; j < 8; j++) row = row (i == j ? " X" : " NV18"); print row, i < 4 ? "PHB" : "SYS", i < 4 ? "0-55" : "56-111" }
    print "NIC0 PHB PHB PHB PHB SYS SYS SYS SYS X" }' >"$dir/switch.txt"
portolan topology "$dir/switch.txt" --format yaml | grep 'gpu.[07],\|nic.0,\|^devices'
sed 's/NV4/SYS/g' tests/fixtures/nvidia-topo.txt >"$dir/pcie.txt"
portolan topology "$dir/pcie.txt" --format csv | grep '^gpu.0,gpu.[12]'
# What cannot be read.
bad() { sed "$1" "$2" >"$dir/bad.txt"; try "$dir/bad.txt" | sed "s|$dir/||"; }
bad 's/PXB/PXX/' tests/fixtures/nvidia-topo.txt
bad '3s/SYS.*//' tests/fixtures/nvidia-topo.txt
bad '/Hops/,/^$/s/2 *$//' tests/fixtures/rocm-topo.txt
bad '/GPU/d' tests/fixtures/nvidia-topo.txt
bad 1d tests/fixtures/nvidia-topo.txt
bad '/^GPU[23]/d' tests/fixtures/nvidia-topo.txt
bad '/^NIC2\t/d' tests/fixtures/nvidia-topo.txt
bad '2s/NV4/SYS/' tests/fixtures/nvidia-topo.txt
bad '/^NIC1/s/PXB/PIX/' tests/fixtures/nvidia-topo.txt
bad '/Hops/,/^$/s/GPU1 .*/GPU1 2 0 1 2/' tests/fixtures/rocm-topo.txt
bad '/Link Type/,/^$/{/^GPU3/d}' tests/fixtures/rocm-topo.txt
bad '/Hops/,/^$/d' tests/fixtures/rocm-topo.txt
# Two GPUs of one link type need no hops.
two() { printf '= ROCm System Management Interface =\n= Link Type between two GPUs =\n GPU0 GPU1\nGPU0 0 %s\nGPU1 %s 0\n' "$1" "$1" >"$dir/two.txt"; }
for kind in XGMI PCIE; do two $kind; try "$dir/two.txt" --format yaml | sed '/^topology\|^source/d'; done
awk 'BEGIN { for (i = 0; i < 65; i++) printf "GPU%d ", i; print "CPU Affinity" }' >"$dir/bad.txt"; try "$dir/bad.txt" | sed "s|$dir/||"
try "$dir/nowhere.txt" | sed "s|$dir/||"
# Machine files.
new() { local status=0; portolan machine new --name from-text --cores 64 --force --out "$dir/new.yaml" "$@" 2>&1 || status=$?; echo "  exit $status"; }
new --from tests/fixtures/nvidia-topo.txt
new --from tests/fixtures/nvidia-topo.txt --host-link pcie4
new --from tests/fixtures/nvidia-topo.txt --host-link pcie4 --nic HDR --gpus 4
new --from tests/fixtures/nvidia-topo.txt --host-link pcie4 --nic HDR --gpu-link nvlink3; grep '^# .*GB/s\|^node' "$dir/new.yaml"
portolan pick --machine "$dir/new.yaml" --collective allreduce --nodes 2 --bytes 1MiB | grep -c '^1 MiB.* nccl '
new --from "$dir/switch.txt" --host-link pcie6 --nic XDR --gpu-link nvlink5; grep '^# .*GB/s\|^node' "$dir/new.yaml"
new --from tests/fixtures/rocm-topo.txt --host-link pcie5; grep '^# .*GB/s\|^node\|^nccl' "$dir/new.yaml"
new --from "$dir/two.txt" --host-link pcie4 --gpu-link xgmi
new --from "$dir/two.txt" --host-link pcie4; portolan predict --machine "$dir/new.yaml" --collective allreduce --nodes 1 --bytes 1MiB | grep -c '^# machine'
# Behind a launcher's labels, they are the same.
for file in nvidia rocm; do for label in "0: " "[1,0]<stdout>: " "node1: "; do sed "s/^/$label/" tests/fixtures/$file-topo.txt >"$dir/$file-topo.txt"; portolan topology "$dir/$file-topo.txt" | diff - <(portolan topology tests/fixtures/$file-topo.txt) && echo "$file behind '$label': the same"; done; done
# Indented as in a page, with blanks that do not break; two nodes in one file.
for file in nvidia rocm; do sed 's/^/    /; s/ X / X\xc2\xa0/' tests/fixtures/$file-topo.txt >"$dir/$file-topo.txt"; portolan topology "$dir/$file-topo.txt" | diff - <(portolan topology tests/fixtures/$file-topo.txt) && echo "$file indented: the same"; done
cat tests/fixtures/nvidia-topo.txt tests/fixtures/nvidia-topo.txt >"$dir/bad.txt"; try "$dir/bad.txt" | sed "s|$dir/||"
