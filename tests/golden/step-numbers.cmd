# A training step by its numbers: those of llm-training.yaml give its calls; experts; one of the numbers lacking, or not divisible.
model="--layers 40 --width 6144 --sequence 2048 --batch 32"
calls() { tr '{' '\n' | sed -n 's/^"call": \("[^"]*"\), "entry": [0-9]*, "times": \([0-9]*\), \(.*\), "cheapest.*/\1 \2 \3/p; s/^"call": \("[^"]*"\), .*\("compute_s": [0-9.]*\).*/\1 \2/p'; }
portolan step llm-training --strategy three_step --format json | calls
portolan step $model --tp 4 --pp 8 --dp 128 --flops 50e12 --machine lassen-spectrum-refit --strategy three_step --format json | calls
portolan step --layers 32 --width 4096 --sequence 4096 --batch 1 --tp 8 --pp 1 --dp 4 --flops 400e12 --machine dgx-h100
portolan step --layers 32 --width 4096 --sequence 4096 --batch 8 --microbatch 2 --dp 32 --ep 8 --flops 400e12 --machine dgx-h100 --strategy nccl,cuda_aware
refuse() { said=$(portolan step "$@" 2>&1); echo "exit $?"; printf '%s\n' "$said" | head -2; }
refuse --layers 32 --width 4096 --sequence 4096 --tp 8 --dp 4 --machine dgx-h100
refuse --width 4096 --sequence 4096 --flops 400e12 --machine dgx-h100
refuse --layers 32 --width 4096 --sequence 4096 --flops 400e12
refuse $model --flops 400e12 --pp 3 --machine dgx-h100
refuse $model --flops 400e12 --tp 12 --machine dgx-h100
refuse $model --flops 400e12 --dp 6 --ep 4 --machine dgx-h100
refuse llm-training --layers 40
refuse llm-training --tp 4
refuse
refuse $model --flops 400e12 --tp 8000000000000000000 --machine dgx-h100
