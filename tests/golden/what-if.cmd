# One run with other parameters: said above the table, in csv and in json.
portolan predict scenarios/problems/alltoall-summit.yaml --bytes 1024:4096 --what-if 'copies.h2d.on_socket.alpha_s=*3' --what-if nodes=/2 --what-if messages.cpu.off_node.eager.below_bytes=64KiB
portolan predict scenarios/problems/alltoall-summit.yaml --bytes 1024 --strategy three_step --what-if procs_per_gpu=3 --model published --format csv
portolan predict scenarios/problems/alltoall-summit.yaml --bytes 1024 --strategy three_step --what-if procs_per_gpu=3 --what-if nodes=4 --model published --format json
portolan pick scenarios/problems/alltoall-summit.yaml --what-if injection.cpu.s_per_byte=/4
portolan pick scenarios/problems/alltoall-summit.yaml --what-if injection.cpu.s_per_byte=/4 --format csv
portolan predict scenarios/problems/allreduce-summit.yaml --bytes 1024 --strategy three_step --what-if reduce.cpu.beta_s_per_byte=1e-10 --explain
portolan check scenarios/problems/messages-one-summit.yaml --bytes 64 --what-if nodes=4 | head -2
portolan plan scenarios/problems/messages-one-summit.yaml --bytes 64 --what-if nodes=4 --strategy cuda_aware | head -2
