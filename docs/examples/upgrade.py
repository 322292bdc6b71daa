"""What a network twice as fast buys a step of two-dimensional parallelism."""
import portolan

workload = {
    "layout": {"nodes": 16, "gpus_per_node": 4},
    "grid": {"data": 16, "tensor": 4},
    "step": [
        {"call": "activations", "on": "tensor", "collective": "allreduce", "bytes": "16MiB", "times": 48},
        {"at_once": [{"call": "gradients", "on": "data", "collective": "allreduce", "bytes": "256MiB"},
                     {"compute": "80 ms"}]},
    ],
}
today = portolan.Machine("lassen-spectrum-refit")
for machine, name in ((today, "today"), (today.what_if("network.*.beta=/2"), "twice the network")):
    step = machine.step(workload)
    calls = ", ".join(f"{call.name} by {call.prediction.strategy}" for call in step.calls if call.prediction)
    print(f"{name}: {step.mix.seconds * 1e3:.1f} ms, of which {step.mix.exposed_s * 1e3:.1f} ms are exposed: {calls}")
