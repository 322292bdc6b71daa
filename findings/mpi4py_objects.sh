#!/usr/bin/env bash
# One would guess that mpi4py's comm.allreduce(1), of a Python object, is a tree to rank 0 and back: 7 messages up and
# 14 down on 8 ranks (lengths and contents), fewer than the 24 of comm.Allreduce.
# It sends 38, and never calls MPI_Allreduce: a reduce of mpi4py's own by MPI_Send, and two MPI_Bcast. Each part of the
# reduce is two messages, and a process that has sent its part stays in the loop, and sends or receives in each of the
# remaining rounds: 12 pairs in place of 7. So comm.reduce(1) sends 24 messages, and comm.Reduce 7.
# python3-mpi4py 3.1.4-2+b2, Open MPI 4.1.4-3+b1 (Debian 12), pml ob1, btl vader and self; PyMPI_reduce_p2p in
# msgpickle.pxi.
. "$(dirname "$0")/packages.sh"
. "$(dirname "$0")/openmpi.sh"
unpack python3-mpi4py=3.1.4-2+b2
export PYTHONPATH=$root/usr/lib/python3/dist-packages
/usr/bin/python3 -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || skip "not Python 3.11"
cat >"$work/calls.py" <<'END_PY'
import sys
from array import array
from mpi4py import MPI

comm = MPI.COMM_WORLD
one, result = array("q", [1]), array("q", [0])
call = {"allreduce": lambda: comm.allreduce(1), "Allreduce": lambda: comm.Allreduce(one, result),
        "reduce": lambda: comm.reduce(1), "Reduce": lambda: comm.Reduce(one, result),
        "bcast": lambda: comm.bcast(1)}[sys.argv[1]]
for i in range(int(sys.argv[2])):
    call()
END_PY

# counted CALL TIMES: messages, those at the start included
counted() {
    rm -f "$work"/counts.*
    "$root/usr/bin/mpirun.openmpi" --allow-run-as-root --oversubscribe --bind-to none -np 8 --mca btl self,vader \
        --mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 --mca pml_monitoring_filename \
        "$work/counts" /usr/bin/python3 "$work/calls.py" "$1" "$2" >"$work/run" 2>&1 ||
        skip "mpirun: $(tail -3 "$work/run")"
    cat "$work"/counts.*.prof | awk '$1 ~ /^[EI]$/ { total += $6 } END { print total + 0 }'
}

# messages_of CALL: of one call
messages_of() {
    local few many
    few=$(counted "$1" 4) many=$(counted "$1" 8)
    case $few$many in *[!0-9]*) echo "$few $many" ;; *) echo $(((many - few) / 4)) ;; esac
}

expect "comm.allreduce(1)" 38 "$(messages_of allreduce)"
expect "comm.Allreduce of 8 bytes" 24 "$(messages_of Allreduce)"
expect "comm.reduce(1)" 24 "$(messages_of reduce)"
expect "comm.Reduce of 8 bytes" 7 "$(messages_of Reduce)"
expect "comm.bcast(1)" 14 "$(messages_of bcast)"
exit "$failed"
