"""An estimate from Python: CPU time, in at most 10 us. Part of bench_estimate."""

import os
import sys
import time

sys.path.insert(0, "python")
import portolan  # noqa: E402

REPEATS = 20000
group = portolan.Machine("summit-spectrum").group(nodes=8)
portolan.estimate("allreduce", 1 << 20, group)
begin = time.process_time()
for size in range(REPEATS):
    portolan.estimate("allreduce", size << 10, group)
seconds = (time.process_time() - begin) / REPEATS
print(f"estimate  {seconds * 1e6:6.3f} us from Python")
sys.exit(seconds > 10e-6 and os.environ.get("BENCH_SHORT", "0") in ("", "0"))
