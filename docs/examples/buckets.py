"""How large a gradient bucket to exchange at once, by a scheduler's thousands of estimates."""
import portolan

GRADIENT_BYTES, BACKWARD_S = 256 << 20, 40e-3
group = portolan.Machine("lassen-spectrum-refit").group(nodes=4)


def exposed_s(bucket):
    """Buckets are ready one by one during the backward pass, and go one after another."""
    count = GRADIENT_BYTES // bucket
    seconds, end = portolan.estimate("allreduce", bucket, group), 0.0
    for i in range(count):
        end = max(end, BACKWARD_S * (i + 1) / count) + seconds
    return end - BACKWARD_S


for bucket in (256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20):
    print(f"{bucket >> 10:6} KiB: {exposed_s(bucket) * 1e3:6.2f} ms exposed, by {portolan.estimated_strategy('allreduce', bucket, group)}")
