# The published model, one term added to it, and all of the machine file.
portolan predict --machine tests/fixtures/terms.yaml --procs-per-gpu 4 --collective alltoall --nodes 2 --bytes 64:1024:4 --strategy cuda_aware,three_step,extra_message,dup_devptr --model published
portolan predict --machine tests/fixtures/terms.yaml --procs-per-gpu 4 --collective alltoall --nodes 2 --bytes 64:1024:4 --strategy cuda_aware,three_step,extra_message,dup_devptr --model published+copies.shared
portolan predict --machine tests/fixtures/terms.yaml --procs-per-gpu 4 --collective alltoall --nodes 2 --bytes 64:1024:4 --strategy cuda_aware,three_step,extra_message,dup_devptr --model full
