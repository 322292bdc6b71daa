# Rules for the NCCL plugin, where nodes have a network with a price and where they have none; Cray's variables.
export SOURCE_DATE_EPOCH=0
ask() { portolan export "$@" 2>&1 | sed 's/cksum [0-9]*/cksum .../'; }
ask --for nccl --machine h200-x2 --nodes 1:8 --bytes 4:16MiB --what-if injection.gpu.s_per_byte=2e-11
ask --for nccl --machine h200-x4 --nodes 1:2
ask --for nccl --machine summit-spectrum-refit --nodes 2 --what-if injection.gpu.s_per_byte=2e-11 | grep 'NCCL allreduce'
ask --for nccl --machine h200-x4 --nodes 2 --check rules
for machine in h200-x2 lassen-spectrum-refit h200-2x2-tcp; do ask --for cray --machine $machine --nodes 2; done
