portolan plan scenarios/problems/alltoall-summit.yaml --strategy dup_devptr --bytes 4KiB --rank 8
