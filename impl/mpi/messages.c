/* The messages of plans. Their MPI requests and datatypes are created with the schedule, started and
 * completed in runs, and get other buffers in a rebinding. */
#include <stdlib.h>

#include "part.h"

/* MPI counts are of type int, so longer ranges become several lengths of a datatype. */
#define LENGTH_MAX ((int64_t)1 << 30)

/* The arguments of MPI_Send_init, MPI_Isend and their counterparts. */
#define ARGS(exec, message, request)                                                                         \
    (message)->at, (message)->count, (message)->type, (message)->peer, (message)->tag,                       \
        pto_comm_of((exec)->job.team), (request)

static int length_count(const pto_byte_ranges_t *ranges) {
    const pto_byte_range_t *range = ranges->list.item;
    int count = 0;
    for (int i = 0; i < ranges->list.count; i++)
        count += (int)((range[i].bytes - 1) / LENGTH_MAX + 1);
    return count;
}

pto_status_t pto_ranges_type(const pto_byte_ranges_t *ranges, MPI_Datatype *type, pto_error_t *err) {
    int lengths_needed = length_count(ranges), count = 0;
    int *lengths = calloc((size_t)lengths_needed + 1, sizeof *lengths);
    MPI_Aint *displs = calloc((size_t)lengths_needed + 1, sizeof *displs);
    pto_status_t status = lengths && displs ? PTO_OK : pto_schedule_out_of_memory(err);
    const pto_byte_range_t *range = ranges->list.item;
    for (int i = 0; i < ranges->list.count && lengths && displs; i++)
        for (int64_t done = 0; done < range[i].bytes; done += LENGTH_MAX) {
            int64_t left = range[i].bytes - done;
            lengths[count] = (int)(left < LENGTH_MAX ? left : LENGTH_MAX);
            displs[count++] = (MPI_Aint)(range[i].at - ranges->base + done);
        }
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Type_create_hindexed(lengths_needed, lengths, displs, MPI_BYTE, type), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Type_commit(type), err);
    free(lengths);
    free(displs);
    return status;
}

/* MPI guarantees tags up to 32767. Messages of one lane are posted in order on both sides. */
static int tag_of(const pto_walk_t *walk) {
    enum { TAGS = 32768, LANE_TAGS = TAGS / PTO_LANES_MAX };
    return (int)(walk->lanes < 0 ? walk->instance % TAGS
                                 : walk->lane * LANE_TAGS + walk->instance % LANE_TAGS);
}

/* Creates the persistent request of message `index`, or replaces it. No run may be active. */
static pto_status_t make_request(pto_exec_t *exec, int index, pto_error_t *err) {
    MPI_Request *request = (MPI_Request *)exec->requests.item + index;
    const pto_exec_message_t *message = (const pto_exec_message_t *)exec->messages.item + index;
    if (message->non_persistent)
        return PTO_OK;
    if (*request != MPI_REQUEST_NULL)
        MPI_Request_free(request);
    return message->sends ? PTO_MPI(MPI_Send_init(ARGS(exec, message, request)), err)
                          : PTO_MPI(MPI_Recv_init(ARGS(exec, message, request)), err);
}

/* A `type` other than MPI_BYTE is freed with the request. */
static pto_status_t add_request(pto_schedule_t *builder, bool sends, void *at, int count, MPI_Datatype type,
                                int peer) {
    pto_exec_t *exec = builder->exec;
    pto_exec_message_t *message = pto_vector_add(&exec->messages, sizeof *message);
    MPI_Request *request = message ? pto_vector_add(&exec->requests, sizeof *request) : NULL;
    if (request)
        *request = MPI_REQUEST_NULL;
    if (!request || !pto_vector_add(&exec->statuses, sizeof(MPI_Status)))
        return pto_schedule_out_of_memory(builder->err);
    bool non_persistent = type == MPI_BYTE && count <= PTO_SHORT_BYTES_MAX;
    *message = (pto_exec_message_t){
        sends, non_persistent, peer, at, count, type, type != MPI_BYTE, tag_of(builder->walk)};
    return make_request(exec, exec->requests.count - 1, builder->err);
}

pto_status_t pto_mpi_message(pto_schedule_t *builder, bool sends, const pto_byte_ranges_t *ranges, int peer) {
    int lengths_needed = length_count(ranges);
    const pto_byte_range_t *range = ranges->list.item;
    if (lengths_needed == 0)
        return add_request(builder, sends, ranges->base, 0, MPI_BYTE, peer);
    if (lengths_needed == 1)
        return add_request(builder, sends, range->at, (int)range->bytes, MPI_BYTE, peer);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    pto_status_t status = pto_ranges_type(ranges, &type, builder->err);
    return status == PTO_OK ? add_request(builder, sends, ranges->base, 1, type, peer) : status;
}

static pto_status_t message_error(const pto_exec_t *exec, const pto_task_t *task, int code,
                                  pto_error_t *err) {
    const pto_exec_message_t *message = (const pto_exec_message_t *)exec->messages.item + task->first;
    const MPI_Status *statuses = exec->statuses.item;
    for (int i = 0; code == MPI_ERR_IN_STATUS && i < task->count; i++) {
        int cause = statuses[i].MPI_ERROR;
        if (cause == MPI_SUCCESS || cause == MPI_ERR_PENDING)
            continue;
        pto_error_t why;
        pto_mpi(cause, message[i].sends ? "send to" : "receive from", &why);
        return pto_error_set(err, PTO_ERR_IO, "message with MPI rank %d: %s", message[i].peer, why.message);
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

static pto_status_t start_non_persistent(const pto_exec_t *exec, const pto_exec_message_t *message,
                                         MPI_Request *request, pto_error_t *err) {
    return message->sends ? PTO_MPI(MPI_Isend(ARGS(exec, message, request)), err)
                          : PTO_MPI(MPI_Irecv(ARGS(exec, message, request)), err);
}

/* Starts the requests in the schedule's order, by which messages between two processes match. */
pto_status_t pto_mpi_post(pto_exec_t *exec, const pto_task_t *task, pto_error_t *err) {
    const pto_exec_message_t *message = (const pto_exec_message_t *)exec->messages.item + task->first;
    MPI_Request *request = (MPI_Request *)exec->requests.item + task->first;
    pto_status_t status = PTO_OK;
    for (int i = 0, until; i < task->count && status == PTO_OK; i = until) {
        until = i + 1;
        if (message[i].non_persistent) {
            status = start_non_persistent(exec, &message[i], &request[i], err);
            continue;
        }
        while (until < task->count && !message[until].non_persistent)
            until++;
        status = PTO_MPI(MPI_Startall(until - i, request + i), err);
    }
    return status;
}

static void relocate_calls(pto_exec_t *exec, const pto_relocations_t *relocations) {
    pto_library_call_t *call = exec->calls.item;
    for (int i = 0; i < exec->calls.count; i++) {
        call[i].in = pto_relocated(relocations, call[i].in);
        call[i].out = pto_relocated(relocations, call[i].out);
        for (int side = 0; call[i].neighbors && side < 2; side++)
            call[i].neighbors[side].base = pto_relocated(relocations, call[i].neighbors[side].base);
    }
}

/* This may not fail, since the other processes would not know. If MPI creates no persistent request for the
 * new buffer, runs use MPI_Isend or MPI_Irecv. */
void pto_mpi_relocate(pto_exec_t *exec, const pto_relocations_t *relocations) {
    pto_exec_message_t *message = exec->messages.item;
    relocate_calls(exec, relocations);
    for (int i = 0; i < exec->messages.count; i++) {
        void *at = pto_relocated(relocations, message[i].at);
        bool same = at == message[i].at;
        message[i].at = at;
        if (!same && make_request(exec, i, NULL) != PTO_OK)
            message[i].non_persistent = true;
    }
}

void pto_mpi_messages_free(pto_exec_t *exec) {
    MPI_Request *request = exec->requests.item;
    pto_exec_message_t *message = exec->messages.item;
    for (int i = 0; i < exec->requests.count; i++) {
        if (request[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&request[i]);
        if (message[i].own_type)
            MPI_Type_free(&message[i].type);
    }
    free(exec->requests.item);
    free(exec->messages.item);
    free(exec->statuses.item);
}
