portolan predict scenarios/problems/alltoall-summit.yaml --bytes 64KiB --strategy three_step,cuda_aware --explain
