#!/usr/bin/env bash
# One would guess that CuPy takes a conjugated tensor of PyTorch with its values, or that PyTorch refuses to hand it out, as
# tensor.numpy() and DLPack do: "Can't export tensors with the conjugate bit set".
# cupy.asarray(z.conj()) has the values of z, without a message. PyTorch keeps the conjugation as a bit of the view; its
# __cuda_array_interface__ looks at no such bit. Of z.conj().imag, whose sign is a bit as well, asarray and from_dlpack of CuPy
# and np.from_dlpack on the CPU have the wrong sign: numpy() looks at this bit, DLPack does not. Tensor.resolve_conj and
# resolve_neg make copies that are right.
# PyTorch 2.11, CuPy 14.2, CUDA 13.0, driver 580.159, one NVIDIA H200 (needed: a GPU, PyTorch and CuPy).
. "$(dirname "$0")/packages.sh"
needs_gpus_and_torch 1
python3 -c 'import cupy' 2>/dev/null || skip "no CuPy"
cat >"$work/views.py" <<'END_PY'
import cupy, numpy, torch

z = torch.tensor([1 + 2j, 3 - 4j], device="cuda")
on_cpu = z.cpu()
tries = {
    "torch": (z, lambda x: x),
    "copied": (z, lambda x: cupy.asarray(x.resolve_conj().resolve_neg())),
    "cupy.asarray": (z, cupy.asarray),
    "cupy.from_dlpack": (z, cupy.from_dlpack),
    "numpy.from_dlpack": (on_cpu, numpy.from_dlpack),
    "numpy": (on_cpu, lambda x: x.numpy()),
}
print("CuPy", cupy.__version__)
for name, (x, taken) in tries.items():
    for view in (x.conj(), x.conj().imag):
        try:
            seen = str(taken(view).tolist())
        except (BufferError, RuntimeError):
            seen = "refused"
        print(name, seen.replace(" ", ""), flush=True)
END_PY
python3 "$work/views.py" >"$work/seen" 2>"$work/log" || skip "Python fails: $(tail -1 "$work/log")"
cat "$work/seen"
both() { awk -v name="$1" '$1 == name { print $2 }' "$work/seen" | paste -sd' '; }
right="[(1-2j),(3+4j)] [-2.0,4.0]"
expect "1+2j and 3-4j conjugated, and the imaginary parts, by PyTorch" "$right" "$(both torch)"
expect "copied, by CuPy" "$right" "$(both copied)"
expect "cupy.asarray" "[(1+2j),(3-4j)] [2.0,-4.0]" "$(both cupy.asarray)"
expect "cupy.from_dlpack" "refused [2.0,-4.0]" "$(both cupy.from_dlpack)"
expect "numpy.from_dlpack" "refused [2.0,-4.0]" "$(both numpy.from_dlpack)"
expect "numpy()" "refused refused" "$(both numpy)"
exit "$failed"
