for topic in words strategies gpu-aware nic open-mpi machines units; do echo "== $topic"; portolan help $topic; done
portolan help nothing
