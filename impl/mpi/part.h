/* What the executor keeps of MPI for messages and MPI's collectives: requests, datatypes, arguments. The
 * other files of impl/mpi implement it behind the table of mpi_part.h. */
#ifndef PTO_IMPL_MPI_PART_H
#define PTO_IMPL_MPI_PART_H

#include "mpi_part.h"
#include "mpi_team.h"

/* One side of a message. Short ones use MPI_Isend and MPI_Irecv in each run, others a persistent request:
 * Open MPI 4.1 sends up to 256 bytes at once, without a request, but only in MPI_Isend. */
enum { PTO_SHORT_BYTES_MAX = 256 };
typedef struct {
    bool sends;
    bool non_persistent; /* by MPI_Isend or MPI_Irecv */
    int peer;            /* MPI rank */
    void *at;            /* the buffer */
    int count;           /* elements of `type` */
    MPI_Datatype type;
    bool own_type; /* the type is freed with the message */
    int tag;
} pto_exec_message_t;

/* The messages to, or from, this process's neighbors in one phase of a halo exchange: arguments of
 * MPI_Neighbor_alltoallw, one for each neighbor, in the order of the plan's steps. */
typedef struct {
    int degree;               /* number of neighbors */
    void *base;               /* the buffer, to which displacements are relative */
    int rank[PTO_SHIFTS_MAX]; /* in the communicator of the members */
    int count[PTO_SHIFTS_MAX];
    MPI_Aint displ[PTO_SHIFTS_MAX];
    MPI_Datatype type[PTO_SHIFTS_MAX];
    bool own_type[PTO_SHIFTS_MAX];
} pto_neighbors_t;

/* A datatype and an operation of MPI. */
typedef struct {
    MPI_Datatype type;
    MPI_Op op;
    bool own_op; /* created by MPI_Op_create */
} pto_mpi_reduction_t;

/* A collective that the MPI library runs, with this process's arguments. */
typedef struct {
    MPI_Comm comm; /* MPI_COMM_NULL: this process is not a member */
    pto_collective_t collective;
    pto_mpi_reduction_t reduction;
    bool equal; /* equal blocks in order, which need no counts and displacements */
    const void *in;
    void *out;
    int count; /* equal blocks: elements of each; vectors: elements of the whole */
    int *send_counts;
    int *send_displs;
    int *receive_counts;
    int *receive_displs;
    pto_neighbors_t *neighbors; /* [2], of a halo exchange: of its sends and of its receives */
} pto_library_call_t;

/* Makes the call. Only members may call it. */
pto_status_t pto_library_call(const pto_library_call_t *call, pto_error_t *err);

/* Creates and commits a datatype for ranges, relative to their `base`. */
pto_status_t pto_ranges_type(const pto_byte_ranges_t *ranges, MPI_Datatype *type, pto_error_t *err);

/* Finds MPI's datatype and operation for a reduction; for an average, the sum's. Free before MPI_Finalize. */
pto_status_t pto_mpi_reduction(pto_datatype_t datatype, pto_op_t op, pto_mpi_reduction_t *reduction,
                               pto_error_t *err);
void pto_mpi_reduction_free(pto_mpi_reduction_t *reduction);

/* The functions of struct pto_mpi_part (mpi_part.h). */
pto_status_t pto_mpi_prepare(pto_exec_t *exec, pto_status_t status, pto_error_t *err);
bool pto_mpi_takes_part(const pto_exec_t *exec, int index);
pto_status_t pto_mpi_call(pto_exec_t *exec, int index, pto_error_t *err);
void pto_mpi_calls_free(pto_exec_t *exec);

pto_status_t pto_mpi_message(pto_schedule_t *builder, bool sends, const pto_byte_ranges_t *ranges, int peer);
pto_status_t pto_mpi_post(pto_exec_t *exec, const pto_task_t *task, pto_error_t *err);
pto_status_t pto_mpi_finish(pto_exec_t *exec, const pto_task_t *task, bool wait, bool *finished,
                            pto_error_t *err);
void pto_mpi_relocate(pto_exec_t *exec, const pto_relocations_t *relocations);
void pto_mpi_messages_free(pto_exec_t *exec);

/* Collective: creates a communicator of each group's members, in its order; MPI_COMM_NULL for all others. */
pto_status_t pto_mpi_members_comm(const pto_exec_t *exec, const pto_membership_t *member, MPI_Comm *comm,
                                  pto_error_t *err);

#endif
