"""Allreduces of PyTorch's tensors by the cheapest kernel, in the current stream, on GPUs of one node: one for each process.

A call can be captured into a CUDA graph after one of the same size, datatype and operation outside, in which the processes
make its executor together. PyTorch is imported when a tensor is first passed."""

import ctypes
import mmap
import os
import time

from . import _library
from ._declarations import *
from ._library import Error, call, lib
from ._machine import text

OPERATIONS = {"sum": PTO_OP_SUM, "prod": PTO_OP_PROD, "min": PTO_OP_MIN, "max": PTO_OP_MAX, "avg": PTO_OP_AVG}
DATATYPES = {"float32": "float", "float64": "double", "float16": "half", "bfloat16": "bfloat16", "int8": "int8", "uint8": "uint8",
             "int16": "int16", "int32": "int32", "int64": "int64", "complex64": "float_complex", "complex128": "double_complex"}
MEET_S = 60.0


class Group:
    """Processes that meet in shared memory under `key`, which no other job has used, and make allreduces in the same order."""

    def __init__(self, machine, rank, size, key, device="cuda"):
        self.machine, self.rank, self.size, self.device = machine, rank, size, device
        self._exec = _library.load_beside("libportolan-exec")
        self._executors, self._team, self._device = {}, ctypes.c_void_p(), ctypes.c_void_p()
        self._path = f"/dev/shm/portolan-{os.geteuid()}-{key}"
        call(self._exec.pto_device_find, device.encode(), ctypes.byref(self._device))
        self._meet(self._exec.pto_team_shared_bytes(size))

    def _meet(self, size_bytes):
        descriptor = self._create_shared(size_bytes) if self.rank == 0 else self._open_shared(size_bytes)
        self._memory = mmap.mmap(descriptor, size_bytes)
        os.close(descriptor)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        call(self._exec.pto_team_shared_create, address, self.rank, self.size, MEET_S, ctypes.byref(self._team))

    def _create_shared(self, size_bytes):
        descriptor = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_RDWR, 0o600)
        os.ftruncate(descriptor, size_bytes)
        return descriptor

    def _open_shared(self, size_bytes):
        began = time.monotonic()
        while time.monotonic() - began < MEET_S:
            try:
                descriptor = os.open(self._path, os.O_NOFOLLOW | os.O_RDWR)
            except FileNotFoundError:
                time.sleep(0.001)
                continue
            if os.fstat(descriptor).st_size >= size_bytes:
                return descriptor
            os.close(descriptor)
            time.sleep(0.001)
        raise Error("timed out", f"process 0 made no {self._path} within {MEET_S:g} s")

    def _unlink(self):
        if self.rank == 0 and os.path.exists(self._path):
            os.unlink(self._path)

    @classmethod
    def of(cls, machine, process_group=None):
        """The processes of a group of torch.distributed (None: all)."""
        import torch.distributed as dist
        key = [os.urandom(8).hex()]
        dist.broadcast_object_list(key, src=dist.get_global_rank(process_group, 0) if process_group else 0, group=process_group)
        return cls(machine, dist.get_rank(process_group), dist.get_world_size(process_group), key[0])

    def _create(self, address, cell, op):
        """By the cheapest strategy that runs as kernels and leaves each buffer to its own process, so that buffers may come
        and go. All processes find the same one: what fails on one of them fails on all."""
        bytes, datatype = cell
        reasons = []
        predicted = self.machine.predict("allreduce", bytes, gpus_per_node=self.size, procs_per_gpu=1, datatype=datatype, explain=False)
        for one in sorted((one for one in predicted if one.applicable and one.strategy != "nccl"), key=lambda one: one.seconds):
            ask = pto_ask_t(collective=b"allreduce", strategy=one.strategy.encode(), datatype=datatype.encode(), bytes=bytes, nodes=1,
                            gpus_per_node=self.size, procs_per_gpu=1)
            plan, made = ctypes.c_void_p(), ctypes.c_void_p()
            call(lib.pto_predict_one, self.machine._made, ctypes.byref(ask), ctypes.byref(plan), None)
            try:
                call(self._exec.pto_exec_create_in, plan, self._team, self._device, address, address, op, None, ctypes.byref(made))
                if self._exec.pto_exec_is_stream_ordered(made) and self._exec.pto_exec_user_is_private(made, PTO_ROLE_IN) and \
                        self._exec.pto_exec_user_is_private(made, PTO_ROLE_OUT):
                    return made, plan, one.strategy
                reasons.append(f"{one.strategy}: others access its buffers, or it is more than kernels")
                self._exec.pto_exec_destroy(made)
            except Error as error:
                reasons.append(f"{one.strategy}: {error}")
            lib.pto_plan_destroy(plan)
        raise Error("does not apply here", f"no kernel for an allreduce of {bytes} bytes: " + "; ".join(reasons))

    def all_reduce_at(self, address, bytes, datatype="float", op="sum", stream=None):
        """In place, of memory at an address, in a stream of the device's; on the device `host`, the call waits for it."""
        key = (bytes, datatype, op)
        if key not in self._executors:
            self._executors[key] = self._create(address, (bytes, datatype), OPERATIONS[op])
            self._unlink()  # all processes have it open
        made = self._executors[key][0]
        if self.device == "host":
            call(self._exec.pto_exec_rebind_private, made, address, address)
            call(self._exec.pto_exec_run, made)
        else:
            call(self._exec.pto_exec_enqueue_on, made, address, address, stream)
        return self._executors[key][2]

    def close(self):
        """Collective: all runs must be complete, and graphs that hold some be destroyed."""
        for made, plan, _ in self._executors.values():
            self._exec.pto_exec_destroy(made)
            lib.pto_plan_destroy(plan)
        self._executors.clear()
        self._unlink()
        self._exec.pto_team_shared_destroy(self._team)
        self._team = ctypes.c_void_p()


def all_reduce(tensor, group, op="sum"):
    """Allreduce a contiguous tensor of this process's GPU in place, in the current stream. Returns the strategy's name."""
    import torch
    if not tensor.is_contiguous():
        raise Error("value out of range", "the tensor is not contiguous")
    if tensor.is_neg():  # its memory has the opposite signs
        raise Error("value out of range", "the tensor is a view with the negative bit; see torch.resolve_neg")
    datatype = DATATYPES.get(str(tensor.dtype).replace("torch.", ""))
    if not datatype:
        raise Error("no such name", f"no allreduce of {tensor.dtype}")
    return group.all_reduce_at(tensor.data_ptr(), tensor.numel() * tensor.element_size(), datatype, op,
                               torch.cuda.current_stream(tensor.device).cuda_stream)
