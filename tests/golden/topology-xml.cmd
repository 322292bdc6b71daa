# Topologies of other tools: hwloc's XML (2 and 3 alike), NCCL's and RCCL's.
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
try() { local status=0; portolan topology "$@" 2>&1 || status=$?; echo "  exit $status"; }
try tests/fixtures/node.xml
sed 's/topology version="2.0"/topology version="3.0"/' tests/fixtures/node.xml >"$dir/three.xml"
portolan topology tests/fixtures/node.xml --format csv >"$dir/2.csv"
portolan topology "$dir/three.xml" --format csv | cmp - "$dir/2.csv" && echo "the same"
try tests/fixtures/nccl.xml
# NVLink-C2C joins a GPU to its CPU; rates that the file lacks are those of PCIe, not of a slow network.
sed 's|<nvlink target="0000:05.*|<c2c bw="44712" count="10"/>|; /0000:06:00.0/d' tests/fixtures/nccl.xml >"$dir/c2c.xml"
portolan topology "$dir/c2c.xml" --format yaml | grep 'gpu\.[01],'
sed 's/link_speed="[^"]*"/link_speed="Unknown"/; s/speed="400000"/speed="10000"/' tests/fixtures/nccl.xml >"$dir/unknown.xml"
portolan topology "$dir/unknown.xml" --format yaml | grep 'gpu\.0, s\|nic\.0, s'
try tests/fixtures/rccl.xml --format yaml
portolan topology tests/fixtures/rccl.xml --format yaml >"$dir/rccl.yaml" && portolan topology "$dir/rccl.yaml" --format csv | grep '^gpu.0,'
# NICs by their PCI ids: E810, gVNIC, MANA, eRDMA, HNS with RDMA, Hi1822, FastLinQ, VIC, BXI; not X710, I350, ENA, HNS without RDMA, virtio, iBMA, an idle E823's 1GbE.
of_nic() { sed "s/\[15b3:[0-9a-f]*\]/[$1]/; s/0207 \[$1/$2 [$1/" tests/fixtures/node.xml >"$dir/nic.xml"; echo "$1 $(portolan topology "$dir/nic.xml" --format yaml 2>&1 | grep -o 'nics: [0-9]*\|no NIC.*')"; }
for id in 8086:1592 8086:159b 8086:12d2 8086:1889 1ae0:0042 1414:00ba 1ded:107f 19e5:a226 19e5:a22f 19e5:0200 1077:1644 1137:0043 119f:1121 8086:1572 8086:1521 1d0f:ec20 19e5:a221 1af4:1041 19e5:1710 8086:188e; do of_nic $id 0200; done
# What cannot be read.
bad() { sed "$1" "$2" >"$dir/bad.xml"; try "$dir/bad.xml" | sed "s|$dir/||"; }
bad 's/gfx942/gfx1100/' tests/fixtures/rccl.xml
bad '17,$s/host_hash="0x1"/host_hash="0x2"/' tests/fixtures/nccl.xml
bad 's/sm="90"/sm="12"/' tests/fixtures/nccl.xml
bad 's/count="9"/count="-1"/' tests/fixtures/nccl.xml
bad '/<gpu /,/<\/gpu>/d' tests/fixtures/nccl.xml
bad 's/<system /<html /' tests/fixtures/nccl.xml
bad '$d' tests/fixtures/nccl.xml
bad '1i<!DOCTYPE a [<!ENTITY b "c">]>' tests/fixtures/nccl.xml
try "$dir/nowhere.xml" | sed "s|$dir/||"
{ echo '<topology version="2.0">'; printf '<object type="Package" gp_index="%d"/>\n' {1..65}; echo '</topology>'; } >"$dir/bad.xml"
try "$dir/bad.xml" | sed "s|$dir/||"
# A machine file from a topology, and what is to be given besides.
new() { local status=0; portolan machine new --name from-xml --force --out "$dir/new.yaml" "$@" 2>&1 || status=$?; echo "  exit $status"; }
new --from tests/fixtures/nccl.xml
new --from tests/fixtures/nccl.xml --cores 32; grep '^# .*GB/s\|^node' "$dir/new.yaml"; sed -n '/^topology/,$p' "$dir/new.yaml"
portolan pick --machine "$dir/new.yaml" --collective allreduce --nodes 2 --bytes 1MiB | grep -c '^1 MiB.* nccl '
new --from tests/fixtures/rccl.xml --cores 32; sed -n '/^peer/,/all_s_per_byte:/p' "$dir/new.yaml"
new --from tests/fixtures/node.xml --cores 32
new --from tests/fixtures/node.xml --cores 32 --nic HDR --gpus 4
new --from tests/fixtures/node.xml --cores 32 --nic HDR; grep '^# .*GB/s\|^node' "$dir/new.yaml"
