#!/usr/bin/env bash
# One would guess that JAX's maximum over two GPUs, by jnp.max of a divided array or by lax.pmax, treats NaN as on one GPU, where
# it is NaN; at the least that its type or size does not matter.
# In float32 and bfloat16, NaN and 1 give NaN in small arrays and 1 in large ones (4 Mi columns and more). In float16 they give
# 1 at every size. XLA has kernels of its own for allreduces of some types up to 4 MiB (xla/backends/gpu/runtime/all_reduce.cc),
# whose maximum keeps NaN, and leaves all others to NCCL, whose maximum is fmaxf or __hmax, which drop it.
# JAX 0.11.2, NCCL 2.28.9, CUDA 13.0, driver 580.159, two NVIDIA H200 (needed: two GPUs and JAX).
. "$(dirname "$0")/packages.sh"
[ "$(nvidia-smi -L 2>/dev/null | grep -c ^GPU)" -ge 2 ] || skip "not 2 NVIDIA GPUs"
python3 -c 'import jax' 2>/dev/null || skip "no JAX"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1
cat >"$work/max.py" <<'END_PY'
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

print("JAX", jax.__version__)
mesh = Mesh(np.array(jax.devices("gpu")[:2]), ("x",))
rows, everywhere = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
largest = jax.jit(lambda x: jnp.max(x, axis=0), out_shardings=everywhere)
on_one = jax.jit(lambda x: jnp.max(x, axis=0))
pmax = jax.jit(jax.shard_map(lambda x: jax.lax.pmax(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))
for name in ("float32", "bfloat16", "float16"):
    for columns in (1, 1 << 18, 1 << 20, 1 << 22, 1 << 24):
        x = jnp.ones((2, columns), name).at[0, 0].set(jnp.nan)
        two = jax.device_put(x, rows)
        print(name, columns, float(largest(two)[0]), float(pmax(two)[1, 0]), float(on_one(x)[0]), flush=True)
END_PY
XLA_PYTHON_CLIENT_PREALLOCATE=false python3 "$work/max.py" >"$work/seen" 2>"$work/log" || skip "JAX fails: $(tail -1 "$work/log")"
echo "type, columns, the maximum over two rows of NaN and 1: on two GPUs by max and by pmax, on one GPU:"
cat "$work/seen"
on_two() { awk -v type="$1" -v columns="$2" '$1 == type && $2 == columns { print $3, $4 }' "$work/seen"; }
expect "on one GPU" "nan" "$(awk 'NF == 5 { print $5 }' "$work/seen" | sort -u)"
for type in float32 bfloat16; do
    expect "on two, $type, 1 column" "nan nan" "$(on_two "$type" 1)"
    expect "on two, $type, 16 Mi columns" "1.0 1.0" "$(on_two "$type" 16777216)"
done
expect "on two, float16, 1 column" "1.0 1.0" "$(on_two float16 1)"
exit "$failed"
