portolan predict scenarios/problems/alltoall-summit.yaml
