for topic in words strategies gpu-aware nic open-mpi machines units exit-codes; do echo "== $topic"; portolan help $topic; done
portolan help nothing
