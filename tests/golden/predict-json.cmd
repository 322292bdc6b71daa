portolan predict scenarios/problems/alltoall-summit.yaml --bytes 1KiB --format json --explain
