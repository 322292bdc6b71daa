/* The other processes' part of MPI's calls (one_of_many.h). */
#include "one_of_many.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "job.h"
#include "mpi_team.h"

many_t many;

static MPI_Comm node = MPI_COMM_NULL;

int MPI_Comm_size(MPI_Comm comm, int *answer) {
    *answer = comm == node ? many.node_size : many.size;
    return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *answer) {
    *answer = comm == node ? many.rank % many.node_size : many.rank;
    return MPI_SUCCESS;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made) {
    many.collectives++;
    int code = PMPI_Comm_dup(comm, made);
    node = *made;
    return code;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made) {
    many.collectives++;
    *made = MPI_COMM_NULL;
    return color == MPI_UNDEFINED ? MPI_SUCCESS : PMPI_Comm_dup(comm, made);
}

/* Its handle may become that of another one. */
int MPI_Comm_free(MPI_Comm *comm) {
    if (*comm == node)
        node = MPI_COMM_NULL;
    return PMPI_Comm_free(comm);
}

int MPI_Group_translate_ranks(MPI_Group from, int count, const int *ranks, MPI_Group to, int *answer) {
    for (int i = 0; i < count; i++)
        answer[i] = many.rank - many.rank % many.node_size + ranks[i];
    return MPI_SUCCESS;
}

static int repeat(const void *mine, void *all, int bytes, int times) {
    for (int i = 0; i < times; i++)
        memcpy((char *)all + (size_t)i * (size_t)bytes, mine, (size_t)bytes);
    return MPI_SUCCESS;
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    many.collectives++;
    return mine == MPI_IN_PLACE ? MPI_SUCCESS : repeat(mine, all, count * bytes, 1);
}

/* All processes say the same, apart from where they are and from their part of a matrix, all of which balance
 * (the executor), and which GPU of the node is theirs
 * (the drop-in, whose number is from 1 on). */
int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int all_count,
                  MPI_Datatype all_type, MPI_Comm comm) {
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    repeat(mine, all, count * bytes, comm == node ? many.node_size : many.size);
    many.collectives++;
    pto_location_t *who = all;
    uint64_t *gpu = all;
    bool is_who = comm != node && count * bytes == (int)sizeof *who;
    bool is_gpu = comm != node && type == MPI_UINT64_T && count == 1;
    bool is_part = comm != node && type == MPI_BYTE && count == (int)sizeof(uint64_t);
    if (is_part)
        memset(all, 0, (size_t)many.size * sizeof(uint64_t));
    for (int i = 0; is_gpu && i < many.size; i++)
        gpu[i] = (uint64_t)(i % many.node_size) + 1;
    for (int i = 0; is_who && i < many.size; i++)
        who[i] = (pto_location_t){i, i - i % many.node_size, i % many.node_size, many.node_size};
    return MPI_SUCCESS;
}

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    many.collectives++;
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm) {
    many.collectives++;
    return MPI_SUCCESS;
}

int MPI_Send_init(const void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    many.messages++;
    return PMPI_Send_init(at, count, type, MPI_PROC_NULL, tag, comm, request);
}

int MPI_Recv_init(void *at, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    many.messages++;
    return PMPI_Recv_init(at, count, type, MPI_PROC_NULL, tag, comm, request);
}
