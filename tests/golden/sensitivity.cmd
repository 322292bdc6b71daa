portolan sensitivity scenarios/problems/alltoall-summit.yaml --bytes 1024
portolan sensitivity scenarios/problems/messages-one-lassen.yaml --bytes 65536 --format csv
portolan sensitivity scenarios/problems/messages-one-lassen.yaml --bytes 65536 --strategy three_step --format json
portolan sensitivity --machine tests/fixtures/terms.yaml --procs-per-gpu 4 --collective alltoall --nodes 2 --bytes 64:1024:16 --strategy cuda_aware,three_step,extra_message,dup_devptr --what-if copies.shared.d2h.alpha_s=*2
# three_step and dup_devptr tie.
portolan sensitivity --machine summit-spectrum --model published --collective alltoall --split bytes --nodes 64 --gpus-per-node 1 --procs-per-gpu 2 --bytes 4 --strategy three_step,cuda_aware,dup_devptr --library linear
