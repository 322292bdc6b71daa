# Large broadcasts and reductions: our chain in as many segments as are cheapest, or as asked for, and the library's.
on="--machine host-nodes-tcp --memory host --procs-per-node 1 --nodes 8"
portolan predict $on --collective broadcast --bytes 4KiB:4MiB:4
portolan predict $on --collective broadcast --bytes 1MiB:4MiB --chunks 8
portolan predict $on --collective reduce --bytes 64KiB:4MiB:4 --library chain
portolan predict $on --collective broadcast --bytes 64KiB:4MiB:4 --library scatter_allgather --strategy mpi
portolan check $on --collective broadcast --bytes 1000
portolan plan $on --collective broadcast --bytes 1MiB --strategy own_algorithm --nodes 4 --chunks 6
