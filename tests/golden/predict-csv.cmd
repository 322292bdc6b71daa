portolan predict scenarios/problems/alltoall-summit.yaml --bytes 1KiB:4KiB --format csv
