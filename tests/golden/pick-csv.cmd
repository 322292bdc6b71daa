portolan pick scenarios/problems/alltoall-lassen.yaml --format csv
