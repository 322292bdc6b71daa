#!/usr/bin/env bash
# One would guess that SMPI, which runs the program while it simulates the network, gives the results that MPI defines, so that
# a run shows whether a program is right as well as how long it takes.
# Ranks 0 to 3 put in 1 to 4, and an operation that is not commutative writes its operands one behind the other. MPI_Scan gives
# each rank what it put in, 4 in place of 1234 on rank 3, and MPI_Exscan leaves the buffer as it was. MPI_Iscan and MPI_Iallreduce
# give 3214, and MPI_Iexscan 3210, since it begins with 0, so that with MPI_PROD it is always 0. MPI_Allreduce gives 1234. Of a
# derived type (2 ints), MPI_Iallreduce returns what the rank put in even for a commutative operation, where MPI_Allreduce returns
# the sum. Nothing fails; with MPI_SUM of MPI_INT all are right.
# For such operations, MPI_Scan waits for the messages in turn and then asks whether "index" is below its own rank, which this
# branch does not set. The non-blocking calls combine their own operand with those of ranks 0, 1, 2 in this order. Where
# the type is a derived one, their request has a buffer of its own, and the results stay there.
# SimGrid 3.32-2+b2 (Debian 12, the paths in its scripts adapted); colls::scan and exscan in smpi_coll.cpp, iexscan in
# smpi_nbc_impl.cpp, init_buffer and finish_nbc_requests in smpi_request.cpp.
. "$(dirname "$0")/packages.sh"
unpack libsimgrid3.32=3.32-2+b2 libsimgrid-dev=3.32-2+b2 libboost-context1.74.0=1.74.0+ds1-21 \
    libboost-stacktrace1.74.0=1.74.0+ds1-21 libns3.37=3.37-2 libgfortran5=12.2.0-14+deb12u1
export LD_LIBRARY_PATH=$library
for tool in smpicc smpirun; do
    sed "s|/usr/lib/x86_64-linux-gnu|$library|g; s|//*usr/include|$root/usr/include|g" "$root/usr/bin/$tool" >"$work/$tool"
    chmod +x "$work/$tool"
done
cat >"$work/scan.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void append(void *left, void *right, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++) {
        int *low = (int *)right + i, power = 10;
        while (power <= *low)
            power *= 10;
        *low += ((int *)left)[i] * power;
    }
}

static void add_pairs(void *left, void *right, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < 2 * *count; i++)
        ((int *)right)[i] += ((int *)left)[i];
}

/* scan append|sum|product|pairs: prints what the last rank gets of six calls. */
int main(int argc, char **argv) {
    enum { CALLS = 6 };
    const char *const names[CALLS] = {"Scan", "Exscan", "Allreduce", "Iscan", "Iexscan", "Iallreduce"};
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Datatype type = MPI_INT;
    MPI_Op op = MPI_SUM;
    MPI_Request requests[3];
    int rank, size, out[CALLS][2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    if (strcmp(argv[1], "product") == 0)
        op = MPI_PROD;
    if (strcmp(argv[1], "append") == 0)
        MPI_Op_create(append, 0, &op);
    if (strcmp(argv[1], "pairs") == 0) {
        MPI_Op_create(add_pairs, 1, &op);
        MPI_Type_contiguous(2, MPI_INT, &type);
        MPI_Type_commit(&type);
    }
    const int in[2] = {rank + 1, rank + 1};
    for (int i = 0; i < CALLS; i++)
        out[i][0] = out[i][1] = -1;
    MPI_Scan(in, out[0], 1, type, op, world);
    MPI_Exscan(in, out[1], 1, type, op, world);
    MPI_Allreduce(in, out[2], 1, type, op, world);
    MPI_Iscan(in, out[3], 1, type, op, world, &requests[0]);
    MPI_Iexscan(in, out[4], 1, type, op, world, &requests[1]);
    MPI_Iallreduce(in, out[5], 1, type, op, world, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; rank == size - 1 && i < CALLS; i++)
        printf("%s %d ", names[i], out[i][0]);
    MPI_Finalize();
    return 0;
}
END_C
"$work/smpicc" -I"$root/usr/include" "$work/scan.c" -o "$work/scan" >"$work/compile" 2>&1 ||
    skip "smpicc: $(tail -1 "$work/compile")"
cat >"$work/nodes.xml" <<'END_XML'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="nodes" prefix="node" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="1us"/>
</platform>
END_XML
printf 'node%d\n' 0 1 2 3 >"$work/hosts"

simulate() { # append|sum|product|pairs
    "$work/smpirun" -np 4 -platform "$work/nodes.xml" -hostfile "$work/hosts" --cfg=smpi/host-speed:1Gf \
        --log=root.thres:warning "$work/scan" "$1" 2>"$work/run" || skip "smpirun: $(tail -3 "$work/run")"
}

echo "what rank 3 of 4 gets:"
expect "not commutative" "Scan 4 Exscan -1 Allreduce 1234 Iscan 3214 Iexscan 3210 Iallreduce 3214 " "$(simulate append)"
expect "MPI_SUM of MPI_INT" "Scan 10 Exscan 6 Allreduce 10 Iscan 10 Iexscan 6 Iallreduce 10 " "$(simulate sum)"
expect "MPI_PROD of MPI_INT" "Scan 24 Exscan 6 Allreduce 24 Iscan 24 Iexscan 0 Iallreduce 24 " "$(simulate product)"
expect "sums of a derived type" "Scan 10 Exscan 6 Allreduce 10 Iscan 4 Iexscan 0 Iallreduce 4 " "$(simulate pairs)"
exit "$failed"
