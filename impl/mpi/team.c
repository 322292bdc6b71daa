/* Teams of the processes of a communicator (mpi_team.h): the functions of a team by MPI's collectives. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "part.h"

/* The context of a team: a communicator that only the team's executors use. Executors that share it run one
 * after the other on all processes, so that messages match in the order in which they are sent. */
typedef struct {
    MPI_Comm comm; /* with the same processes in the same order as the caller's, but no attributes */
    MPI_Request barrier;
    bool abandoned; /* a run failed, and its messages may still arrive: it is never freed */
} link_t;

/* A team, and that of the processes that share memory with this one. */
typedef struct {
    pto_team_t team;
    pto_team_t on_node;
    link_t all;
    link_t node;
} comms_t;

pto_status_t pto_mpi(int code, const char *call, pto_error_t *err) {
    if (code == MPI_SUCCESS)
        return PTO_OK;
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int length = 0;
    MPI_Error_string(code, text, &length);
    int name = (int)strcspn(call, "(");
    return pto_error_set(err, PTO_ERR_IO, "%.*s: %s", name, call, text);
}

/* The context is a link_t. */
static MPI_Comm comm_of(const void *context) { return ((const link_t *)context)->comm; }

MPI_Comm pto_comm_of(const pto_team_t *team) { return comm_of(team->context); }

static pto_status_t allgather(void *context, const void *mine, size_t bytes, void *all, pto_error_t *err) {
    if (bytes > INT_MAX)
        return pto_error_set(err, PTO_ERR_TOO_LARGE, "MPI limits counts to %d, not %zu", INT_MAX, bytes);
    return PTO_MPI(MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, comm_of(context)),
                   err);
}

static pto_status_t least(void *context, int64_t *numbers, int count, pto_error_t *err) {
    return PTO_MPI(MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_INT64_T, MPI_MIN, comm_of(context)), err);
}

static pto_status_t broadcast(void *context, void *data, size_t bytes, int root, pto_error_t *err) {
    return PTO_MPI(MPI_Bcast(data, (int)bytes, MPI_BYTE, root, comm_of(context)), err);
}

static pto_status_t enter(void *context, pto_error_t *err) {
    return PTO_MPI(MPI_Ibarrier(comm_of(context), &((link_t *)context)->barrier), err);
}

static pto_status_t entered(void *context, bool *all, pto_error_t *err) {
    int flag = 0;
    pto_status_t status = PTO_MPI(MPI_Test(&((link_t *)context)->barrier, &flag, MPI_STATUS_IGNORE), err);
    *all = flag != 0;
    return status;
}

/* A waiting process must let MPI make progress on the messages of others. */
static pto_status_t rest(void *context, pto_error_t *err) {
    int flag = 0;
    return PTO_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_of(context), &flag, MPI_STATUS_IGNORE), err);
}

static void abandon(void *context) { ((link_t *)context)->abandoned = true; }

static void end(void *context) { MPI_Abort(comm_of(context), 1); }

/* The color of a group is the rank of its first member. */
pto_status_t pto_mpi_members_comm(const pto_exec_t *exec, const pto_membership_t *member, MPI_Comm *comm,
                                  pto_error_t *err) {
    int64_t color = pto_group_rank(exec->plan, member->group, exec->job.logical, 0);
    return PTO_MPI(MPI_Comm_split(pto_comm_of(exec->job.team), member->acts ? (int)color : MPI_UNDEFINED,
                                  member->acts ? member->index : 0, comm),
                   err);
}

static pto_status_t set_up(comms_t *comms, const struct pto_mpi_part *part, pto_error_t *err);

/* Creates the team of a group's members. It does not know nodes, as it only exchanges what NCCL needs. */
static pto_status_t members(const pto_exec_t *exec, const pto_membership_t *member, pto_team_t **team,
                            pto_error_t *err) {
    MPI_Comm comm = MPI_COMM_NULL;
    pto_status_t status = pto_mpi_members_comm(exec, member, &comm, err);
    *team = NULL;
    if (comm == MPI_COMM_NULL)
        return status;
    comms_t *created = calloc(1, sizeof *created);
    if (!created)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a team");
    if (status == PTO_OK && created) {
        *created =
            (comms_t){.all = {.comm = comm, .barrier = MPI_REQUEST_NULL}, .node = {.comm = MPI_COMM_NULL}};
        status = set_up(created, exec->job.team->mpi, err);
    }
    if (status == PTO_OK && created) {
        *team = &created->team;
        return PTO_OK;
    }
    MPI_Comm_free(&comm);
    free(created);
    return status;
}

static void free_calls_and_messages(pto_exec_t *exec) {
    pto_mpi_calls_free(exec);
    pto_mpi_messages_free(exec);
}

static const struct pto_mpi_part mpi_part = {.prepare = pto_mpi_prepare,
                                             .takes_part = pto_mpi_takes_part,
                                             .call = pto_mpi_call,
                                             .message = pto_mpi_message,
                                             .post = pto_mpi_post,
                                             .finish = pto_mpi_finish,
                                             .relocate = pto_mpi_relocate,
                                             .members = members,
                                             .members_free = pto_team_mpi_destroy,
                                             .free = free_calls_and_messages};

/* Finds the lowest rank on this process's node. */
static pto_status_t first_on_node(const comms_t *comms, int *first, pto_error_t *err) {
    MPI_Group all = MPI_GROUP_NULL, node = MPI_GROUP_NULL;
    pto_status_t status = PTO_MPI(MPI_Comm_group(comms->all.comm, &all), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_group(comms->node.comm, &node), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Group_translate_ranks(node, 1, (const int[]){0}, all, first), err);
    if (node != MPI_GROUP_NULL)
        MPI_Group_free(&node);
    if (all != MPI_GROUP_NULL)
        MPI_Group_free(&all);
    return status;
}

static pto_status_t set_up_team(pto_team_t *team, link_t *link, const struct pto_mpi_part *part,
                                pto_error_t *err) {
    *team = (pto_team_t){.context = link,
                         .allgather = allgather,
                         .enter = enter,
                         .entered = entered,
                         .least = least,
                         .broadcast = broadcast,
                         .rest = rest,
                         .abandon = abandon,
                         .end = end,
                         .mpi = part};
    pto_status_t status = PTO_MPI(MPI_Comm_size(link->comm, &team->size), err);
    return status == PTO_OK ? PTO_MPI(MPI_Comm_rank(link->comm, &team->rank), err) : status;
}

static pto_status_t set_up(comms_t *comms, const struct pto_mpi_part *part, pto_error_t *err) {
    pto_status_t status = set_up_team(&comms->team, &comms->all, part, err);
    if (status != PTO_OK || comms->node.comm == MPI_COMM_NULL)
        return status;
    comms->team.node = &comms->on_node;
    status = set_up_team(&comms->on_node, &comms->node, part, err);
    return status == PTO_OK ? first_on_node(comms, &comms->team.node_first, err) : status;
}

/* Unlike MPI_Comm_dup, this copies no attributes of the program, which may be large or communicate. */
static pto_status_t copy_comm(MPI_Comm comm, MPI_Comm *created, pto_error_t *err) {
    MPI_Group group = MPI_GROUP_NULL;
    pto_status_t status = PTO_MPI(MPI_Comm_group(comm, &group), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_create(comm, group, created), err);
    if (group != MPI_GROUP_NULL)
        MPI_Group_free(&group);
    return status;
}

static pto_status_t create(MPI_Comm comm, comms_t *comms, pto_error_t *err) {
    int rank = 0;
    *comms = (comms_t){.all = {.comm = MPI_COMM_NULL, .barrier = MPI_REQUEST_NULL},
                       .node = {.comm = MPI_COMM_NULL}};
    pto_status_t status = copy_comm(comm, &comms->all.comm, err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_set_errhandler(comms->all.comm, MPI_ERRORS_RETURN), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_rank(comms->all.comm, &rank), err);
    if (status == PTO_OK)
        status = PTO_MPI(MPI_Comm_split_type(comms->all.comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL,
                                             &comms->node.comm),
                         err);
    return status == PTO_OK ? set_up(comms, &mpi_part, err) : status;
}

static void free_comms(comms_t *comms) {
    if (comms->node.comm != MPI_COMM_NULL)
        MPI_Comm_free(&comms->node.comm);
    if (comms->all.comm != MPI_COMM_NULL)
        MPI_Comm_free(&comms->all.comm);
}

/* A process that is out of memory takes part nevertheless: its caller may agree with the others on errors. */
pto_status_t pto_team_mpi_create(MPI_Comm comm, pto_team_t **team, pto_error_t *err) {
    comms_t spare, *created = calloc(1, sizeof *created);
    pto_status_t status = create(comm, created ? created : &spare, err);
    if (status == PTO_OK && !created)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a team");
    if (status == PTO_OK) {
        *team = &created->team;
        return PTO_OK;
    }
    free_comms(created ? created : &spare);
    free(created);
    return status;
}

/* The team is the first member. */
void pto_team_mpi_destroy(pto_team_t *team) {
    comms_t *comms = (comms_t *)(void *)team;
    if (!comms || comms->all.abandoned)
        return;
    free_comms(comms);
    free(comms);
}

/* Makes a temporary team of a communicator. It has nothing to free. */
static pto_status_t team_for(MPI_Comm comm, comms_t *on, pto_error_t *err) {
    *on = (comms_t){.all = {.comm = comm}, .node = {.comm = MPI_COMM_NULL}};
    return set_up(on, &mpi_part, err);
}

pto_status_t pto_mpi_agree_least(MPI_Comm comm, pto_status_t status, int64_t *number, int count,
                                 pto_error_t *err) {
    comms_t on;
    pto_status_t failed = team_for(comm, &on, err);
    return failed == PTO_OK ? pto_agree_least(&on.team, status, number, count, err) : failed;
}

pto_status_t pto_mpi_agree(MPI_Comm comm, pto_status_t status, pto_error_t *err) {
    return pto_mpi_agree_least(comm, status, NULL, 0, err);
}

pto_status_t pto_mpi_agree_same(MPI_Comm comm, pto_status_t status, uint64_t number, pto_error_t *err) {
    comms_t on;
    pto_status_t failed = team_for(comm, &on, err);
    return failed == PTO_OK ? pto_agree_same(&on.team, status, number, err) : failed;
}

pto_status_t pto_mpi_share(MPI_Comm comm, size_t bytes, void **memory, pto_shared_handle_t *handle,
                           pto_error_t *err) {
    comms_t on;
    pto_status_t failed = team_for(comm, &on, err);
    return failed == PTO_OK ? pto_team_share(&on.team, bytes, memory, handle, err) : failed;
}
