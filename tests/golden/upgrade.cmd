portolan upgrade scenarios/workloads/fft-3d.yaml
portolan upgrade scenarios/workloads/fft-3d.yaml --upgrades tests/fixtures/upgrades.yaml
portolan upgrade scenarios/workloads/fft-3d.yaml --upgrades tests/fixtures/upgrades.yaml --format csv
summit="--machine summit-spectrum-refit --collective alltoall --nodes 8"
portolan upgrade $summit --bytes 64:1MiB:4
portolan upgrade $summit --bytes 64KiB --upgrades tests/fixtures/upgrades.yaml
portolan upgrade $summit --bytes 64:1MiB:16 --only nic
portolan upgrade scenarios/workloads/fft-3d.yaml --only NIC
portolan upgrade $summit --bytes 64KiB --only nic --format json
portolan upgrade $summit --bytes 64KiB --only warp
portolan upgrade scenarios/workloads/fft-3d.yaml --bytes 64
portolan upgrade $summit
# GPUDirect is for GPUs whose messages go through the host.
for machine in h200-nodes-tcp dgx-h100 "h200-x2 --what-if injection.gpu.s_per_byte=2e-11" cpu-2x64-200g; do
    portolan upgrade --machine $machine --collective alltoall --nodes 2 --bytes 64KiB --only gpudirect | sed -n '/^GPUD/p; /^# GPUD/,/^# Time/p' | grep -v '^# Time'
done
# A machine without a network: a time that it lacks is named.
portolan upgrade scenarios/workloads/gnn.yaml --machine h200-x4 --nodes 2 --what-if injection.gpu.s_per_byte=2e-11 --only PCIe --format csv
portolan upgrade --machine h200-x4 --nodes 2 --what-if injection.gpu.s_per_byte=2e-11 --collective allreduce --bytes 1MiB --only PCIe
