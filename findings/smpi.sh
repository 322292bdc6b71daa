#!/usr/bin/env bash
# One would guess that SMPI passes messages between ranks of one host through its memory, in far less time than over the
# network; and that smpirun fails where the program calls MPI_Abort.
# A host of a <cluster> without loopback_bw has no other link than the one to the network, and messages to itself cross
# it in both directions: 1 MiB takes 1,403 us on one host, and 1,348 us between two. The exit status after
# MPI_Abort(MPI_COMM_WORLD, 3) is 0; a rank that returns 3 from main makes it 3.
# SimGrid 3.32-2+b2 (Debian 12, installed: its scripts have absolute paths), network model SMPI with its defaults.
. "$(dirname "$0")/packages.sh"
[ "$(dpkg-query -W -f '${Version}' libsimgrid-dev 2>/dev/null)" = 3.32-2+b2 ] ||
    skip "apt-get install libsimgrid-dev=3.32-2+b2"
cat >"$work/rank.c" <<'END_C'
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 1 << 20 };

int main(int argc, char **argv) {
    static char data[BYTES];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(argv[1], "send") == 0) {
        double begin = MPI_Wtime();
        if (rank == 0)
            MPI_Send(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            printf("%.0f us\n", 1e6 * (MPI_Wtime() - begin));
    }
    if (strcmp(argv[1], "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Finalize();
    return strcmp(argv[1], "return") == 0 ? 3 : 0;
}
END_C
smpicc "$work/rank.c" -o "$work/rank" >"$work/compile" 2>&1 || skip "smpicc: $(tail -1 "$work/compile")"
for loopback in '' ' loopback_bw="10GBps" loopback_lat="1us"'; do
    cat >"$work/nodes${loopback:+-loopback}.xml" <<END_XML
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="10us"$loopback/>
</platform>
END_XML
done

# ran PROGRAM'S ARGUMENT PLATFORM HOST HOST
ran() {
    printf '%s\n' "$3" "$4" >"$work/hosts"
    timeout 60 smpirun -np 2 -hostfile "$work/hosts" -platform "$work/$2.xml" --log=root.thres:critical \
        --cfg=smpi/simulate-computation:no "$work/rank" "$1" 2>"$work/run"
}

expect "1 MiB between two hosts" "1348 us" "$(ran send nodes n0 n1 | grep us)"
expect "1 MiB on one host" "1403 us" "$(ran send nodes n0 n0 | grep us)"
expect "1 MiB on one host with a loopback" "123 us" "$(ran send nodes-loopback n0 n0 | grep us)"
expect "exit status of MPI_Abort with 3" 0 "$(ran abort nodes n0 n1 >"$work/seen"; echo $?)"
expect "of a rank that returns 3" 3 "$(ran return nodes n0 n1 >"$work/seen"; echo $?)"
exit "$failed"
