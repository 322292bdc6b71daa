portolan predict scenarios/problems/alltoallv-summit.yaml --implementation isend_irecv
