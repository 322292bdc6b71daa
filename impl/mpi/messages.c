/* Messages of plans: their requests and datatypes, starting and completing them. */
#include <stdlib.h>

#include "part.h"

/* An MPI count is an int; longer ranges are split. */
#define PIECE_BYTES_MAX ((int64_t)1 << 30)

static MPI_Comm comm_of(const pto_exec_t *exec) { return pto_comms_of(exec->job.team)->comm; }

/* The arguments of MPI's functions for a message. */
#define ARGS(exec, end, request)                                                                             \
    (end)->at, (end)->count, (end)->type, (end)->peer, (end)->tag, comm_of(exec), (request)

/* --- making them ---------------------------------------------------------------------------------------- */

static int piece_count(const pto_byte_ranges_t *ranges) {
    const pto_byte_range_t *range = ranges->list.item;
    int count = 0;
    for (int i = 0; i < ranges->list.count; i++)
        count += (int)((range[i].bytes - 1) / PIECE_BYTES_MAX + 1);
    return count;
}

pto_status_t pto_ranges_type(const pto_byte_ranges_t *ranges, MPI_Datatype *type, pto_error_t *err) {
    int pieces = piece_count(ranges), made = 0;
    int *lengths = calloc((size_t)pieces + 1, sizeof *lengths);
    MPI_Aint *places = calloc((size_t)pieces + 1, sizeof *places);
    pto_status_t status = lengths && places ? PTO_OK : pto_schedule_out_of_memory(err);
    const pto_byte_range_t *range = ranges->list.item;
    for (int i = 0; i < ranges->list.count && lengths && places; i++)
        for (int64_t done = 0; done < range[i].bytes; done += PIECE_BYTES_MAX) {
            int64_t left = range[i].bytes - done;
            lengths[made] = (int)(left < PIECE_BYTES_MAX ? left : PIECE_BYTES_MAX);
            places[made++] = (MPI_Aint)(range[i].at - ranges->base + done);
        }
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Type_create_hindexed(pieces, lengths, places, MPI_BYTE, type), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Type_commit(type), err);
    free(lengths);
    free(places);
    return status;
}

/* MPI guarantees tags up to 32767. Messages of one lane are posted in order on both sides. */
static int tag_of(const pto_walk_t *walk) {
    enum { TAGS = 32768, LANE_TAGS = TAGS / PTO_LANES_MAX };
    return (int)(walk->lanes < 0 ? walk->instance % TAGS
                                 : walk->lane * LANE_TAGS + walk->instance % LANE_TAGS);
}

/* Make request `index` from what `ends` holds, in place of the present one. No run may be active. */
static pto_status_t make_request(pto_exec_t *exec, int index, pto_error_t *err) {
    MPI_Request *request = (MPI_Request *)exec->requests.item + index;
    const pto_exec_end_t *end = (const pto_exec_end_t *)exec->ends.item + index;
    if (end->by_call)
        return PTO_OK;
    if (*request != MPI_REQUEST_NULL)
        MPI_Request_free(request);
    return end->sends ? PTO_MPI(MPI_Send_init(ARGS(exec, end, request)), err)
                      : PTO_MPI(MPI_Recv_init(ARGS(exec, end, request)), err);
}

/* `type` is this request's own if it is not MPI_BYTE. */
static pto_status_t add_request(pto_schedule_t *builder, bool sends, void *at, int count, MPI_Datatype type,
                                int peer) {
    pto_exec_t *exec = builder->exec;
    pto_exec_end_t *end = pto_vector_add(&exec->ends, sizeof *end);
    MPI_Request *request = end ? pto_vector_add(&exec->requests, sizeof *request) : NULL;
    if (!request || !pto_vector_add(&exec->statuses, sizeof(MPI_Status)))
        return pto_schedule_out_of_memory(builder->err);
    bool by_call = type == MPI_BYTE && count <= PTO_SHORT_BYTES_MAX;
    *end = (pto_exec_end_t){sends, by_call, peer, at, count, type, type != MPI_BYTE, tag_of(builder->walk)};
    *request = MPI_REQUEST_NULL;
    return make_request(exec, exec->requests.count - 1, builder->err);
}

pto_status_t pto_mpi_message(pto_schedule_t *builder, bool sends, const pto_byte_ranges_t *ranges, int peer) {
    int pieces = piece_count(ranges);
    const pto_byte_range_t *range = ranges->list.item;
    if (pieces == 0)
        return add_request(builder, sends, ranges->base, 0, MPI_BYTE, peer);
    if (pieces == 1)
        return add_request(builder, sends, range->at, (int)range->bytes, MPI_BYTE, peer);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    pto_status_t status = pto_ranges_type(ranges, &type, builder->err);
    return status == PTO_OK ? add_request(builder, sends, ranges->base, 1, type, peer) : status;
}

/* --- sending and receiving ------------------------------------------------------------------------------ */

static pto_status_t message_error(const pto_exec_t *exec, const pto_task_t *task, int code,
                                  pto_error_t *err) {
    const pto_exec_end_t *end = (const pto_exec_end_t *)exec->ends.item + task->first;
    const MPI_Status *statuses = exec->statuses.item;
    for (int i = 0; code == MPI_ERR_IN_STATUS && i < task->count; i++) {
        int cause = statuses[i].MPI_ERROR;
        if (cause == MPI_SUCCESS || cause == MPI_ERR_PENDING)
            continue;
        pto_error_t why;
        pto_mpi(cause, end[i].sends ? "send to" : "receive from", &why);
        return pto_error_set(err, PTO_ERR_IO, "message with MPI rank %d: %s", end[i].peer, why.message);
    }
    return pto_mpi(code, "MPI_Waitall", err);
}

pto_status_t pto_mpi_finish(pto_exec_t *exec, const pto_task_t *task, bool wait, bool *finished,
                            pto_error_t *err) {
    MPI_Request *request = (MPI_Request *)exec->requests.item + task->first;
    int flag = 1;
    int code = wait ? MPI_Waitall(task->count, request, exec->statuses.item)
                    : MPI_Testall(task->count, request, &flag, exec->statuses.item);
    *finished = flag != 0;
    return code == MPI_SUCCESS ? PTO_OK : message_error(exec, task, code, err);
}

static pto_status_t post_by_call(const pto_exec_t *exec, const pto_exec_end_t *end, MPI_Request *request,
                                 pto_error_t *err) {
    return end->sends ? PTO_MPI(MPI_Isend(ARGS(exec, end, request)), err)
                      : PTO_MPI(MPI_Irecv(ARGS(exec, end, request)), err);
}

/* In the order of the schedule, since messages between two processes match in that order. */
pto_status_t pto_mpi_post(pto_exec_t *exec, const pto_task_t *task, pto_error_t *err) {
    const pto_exec_end_t *end = (const pto_exec_end_t *)exec->ends.item + task->first;
    MPI_Request *request = (MPI_Request *)exec->requests.item + task->first;
    pto_status_t status = PTO_OK;
    for (int i = 0, until; i < task->count && status == PTO_OK; i = until) {
        until = i + 1;
        if (end[i].by_call) {
            status = post_by_call(exec, &end[i], &request[i], err);
            continue;
        }
        while (until < task->count && !end[until].by_call)
            until++;
        status = PTO_MPI(MPI_Startall(until - i, request + i), err);
    }
    return status;
}

/* --- rebinding ------------------------------------------------------------------------------------------ */

static void move_calls(pto_exec_t *exec, const pto_moves_t *moves) {
    pto_library_call_t *call = exec->calls.item;
    for (int i = 0; i < exec->calls.count; i++) {
        call[i].in = pto_moved(moves, call[i].in);
        call[i].out = pto_moved(moves, call[i].out);
        for (int side = 0; call[i].neighbors && side < 2; side++)
            call[i].neighbors[side].base = pto_moved(moves, call[i].neighbors[side].base);
    }
}

/* Where MPI makes no persistent request, each run posts the message by a call of its own: so nothing fails
 * here, of which the other processes would not know. */
void pto_mpi_move(pto_exec_t *exec, const pto_moves_t *moves) {
    pto_exec_end_t *end = exec->ends.item;
    move_calls(exec, moves);
    for (int i = 0; i < exec->ends.count; i++) {
        void *at = pto_moved(moves, end[i].at);
        bool same = at == end[i].at;
        end[i].at = at;
        if (!same && make_request(exec, i, NULL) != PTO_OK)
            end[i].by_call = true;
    }
}

void pto_mpi_messages_free(pto_exec_t *exec) {
    MPI_Request *request = exec->requests.item;
    pto_exec_end_t *end = exec->ends.item;
    for (int i = 0; i < exec->requests.count; i++) {
        if (request[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&request[i]);
        if (end[i].own_type)
            MPI_Type_free(&end[i].type);
    }
    free(exec->requests.item);
    free(exec->ends.item);
    free(exec->statuses.item);
}
