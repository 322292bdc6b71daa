/* Agreements between the processes of an MPI job (agreement.h). One process prints an error for all. */
#include "agreement.h"

#include <stdbool.h>
#include <string.h>

/* Collective. Returns the lowest rank that failed; -1: none did. */
static int first_failed(MPI_Comm comm, bool failed) {
    int rank = 0, size = 0, first = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int own = failed ? rank : size;
    MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, comm);
    return first < size ? first : -1;
}

pto_status_t agree_on_status(MPI_Comm comm, pto_status_t status, pto_error_t *err) {
    struct {
        pto_status_t status;
        pto_error_t err;
    } shared = {.status = status, .err = *err};
    int first = first_failed(comm, status != PTO_OK);
    if (first < 0)
        return PTO_OK;
    MPI_Bcast(&shared, (int)sizeof shared, MPI_BYTE, first, comm);
    *err = shared.err;
    return shared.status;
}

int agree_on_arguments(const pto_syntax_t *syntax, int code, const pto_error_t *err) {
    int rank = 0, first = first_failed(MPI_COMM_WORLD, code >= 0);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (first < 0)
        return -1;
    if (rank == first && code == PTO_EXIT_OK)
        pto_print_help(syntax);
    else if (rank == first)
        fprintf(stderr, "%s\n", err->message);
    MPI_Bcast(&code, 1, MPI_INT, first, MPI_COMM_WORLD);
    return code;
}

pto_status_t agree_on_settings(const setting_t *setting, int count, pto_error_t *err) {
    pto_status_t status = PTO_OK;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < count; i++) {
        char value[SETTING_MAX];
        memcpy(value, setting[i].value, sizeof value);
        MPI_Bcast(value, sizeof value, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (status == PTO_OK && strcmp(value, setting[i].value) != 0)
            status = pto_error_set(err, PTO_ERR_RANGE,
                                   "the processes were given different arguments: MPI rank %d has %s %.150s, "
                                   "MPI rank 0 has %.150s",
                                   rank, setting[i].name, setting[i].value, value);
    }
    return agree_on_status(MPI_COMM_WORLD, status, err);
}
