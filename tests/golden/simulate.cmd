portolan simulate scenarios/problems/alltoall-summit.yaml --nodes 2 --bytes 64:256KiB:64
portolan simulate scenarios/problems/allreduce-lassen.yaml --nodes 3 --bytes 4096:16384:4 --format csv
portolan simulate --machine summit-spectrum-refit --collective scatter --nodes 2 --bytes 64KiB --strategy three_step --format csv
