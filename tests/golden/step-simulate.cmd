portolan step scenarios/workloads/fsdp.yaml --nodes 4 --simulate --strategy split_ring
portolan step scenarios/workloads/llm-training.yaml --nodes 8 --simulate --format csv --strategy cuda_aware | grep simulated
portolan step scenarios/workloads/fft-3d.yaml --simulate --limit 1000
