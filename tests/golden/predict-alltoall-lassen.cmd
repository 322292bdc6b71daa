portolan predict scenarios/problems/alltoall-lassen.yaml
