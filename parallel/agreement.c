/* One process speaks for all, so that an error is printed once. */
#include "agreement.h"

#include <string.h>

int agree_on_arguments(const pto_syntax_t *syntax, int code, const pto_error_t *err) {
    int rank = 0, size = 0, first = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int own = code < 0 ? size : rank;
    MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == size)
        return -1;
    if (rank == first && code == PTO_EXIT_OK)
        pto_print_help(syntax, stdout);
    else if (rank == first)
        fprintf(stderr, "%s\n", err->message);
    MPI_Bcast(&code, 1, MPI_INT, first, MPI_COMM_WORLD);
    return code;
}

pto_status_t agree_on_settings(const setting_t *setting, int count, pto_error_t *err) {
    char wrong[PTO_ERROR_MESSAGE_MAX] = "";
    int rank = 0, size = 0, first = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < count; i++) {
        char value[SETTING_MAX];
        memcpy(value, setting[i].value, sizeof value);
        MPI_Bcast(value, sizeof value, MPI_CHAR, 0, MPI_COMM_WORLD);
        if (!*wrong && strcmp(value, setting[i].value) != 0)
            snprintf(
                wrong, sizeof wrong,
                "the processes were given different arguments: MPI rank %d has %s %.150s, MPI rank 0 has "
                "%.150s",
                rank, setting[i].name, setting[i].value, value);
    }
    int own = *wrong ? rank : size;
    MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == size)
        return PTO_OK;
    MPI_Bcast(wrong, sizeof wrong, MPI_CHAR, first, MPI_COMM_WORLD);
    return pto_error_set(err, PTO_ERR_RANGE, "%s", wrong);
}
