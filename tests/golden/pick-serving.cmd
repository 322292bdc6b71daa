# What has no price is said; limits differ between the programs and with the number of GPUs.
portolan pick --for vllm --machine h200-x2-graph --collective allreduce --nodes 1 --procs-per-gpu 1 --datatype bfloat16 --bytes 1KiB:64MiB:16 --measured validate/results/h200-x2/torch.csv
portolan pick --for sglang --machine dgx-b200 --collective allreduce --nodes 1 --procs-per-gpu 1 --datatype bfloat16 --bytes 64KiB:16MiB:16 --layers 80
portolan pick --for vllm --machine dgx-h100 --collective allreduce --nodes 1 --procs-per-gpu 1 --bytes 64KiB:16MiB:16 | sed -n '/^# Bytes/,/^# no/p'
for format in csv json; do portolan pick --for vllm --machine h200-x2-graph --collective allreduce --nodes 1 --procs-per-gpu 1 --datatype bfloat16 --bytes 1KiB:64MiB:256 --format $format; done
# vLLM has the limits of two compute capabilities only: other GPUs have its own kernels up to 8 MiB, and no symmetric memory.
for machine in dgx-h100 abci-a; do portolan pick --for vllm --machine $machine --collective allreduce --nodes 1 --procs-per-gpu 1 --datatype bfloat16 --bytes 256KiB:16MiB:8 --format csv; done
portolan pick --for vllm --machine h200-x2 --collective broadcast --nodes 1 --bytes 1KiB; portolan pick --for tgi --machine h200-x2 --collective allreduce --nodes 1 --bytes 1KiB 2>&1 | head -1; portolan pick --machine h200-x2 --measured x --collective allreduce --nodes 1 --bytes 1KiB
