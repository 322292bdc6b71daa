/* Reads traces of liballprof (Hoefler, Siebert, Lumsdaine, "LogGOPSim", HPDC 2010). They have a file for each
 * process and a line for each call, with MPI's arguments in MPI's order and times in microseconds, such as
 *   MPI_Bcast:BEGIN:BUFFER:COUNT:TYPE,SIZE,EXTENT:ROOT:COMMUNICATOR,RANK,PROCESSES:END
 * The indexes below follow mpipclog.c (LogGOPSim's repository at 76451de), which has MPI's routines up
 * to 1.2. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reader.h"

enum { FIELDS_MAX = PTO_RECORDING_COLUMNS_MAX };

/* The indexes of arguments among a line's fields; 0 if there is none. Field 0 is the routine, 1 the begin. */
static const struct {
    const char *routine;
    pto_collective_t collective;
    int count, type, communicator, peer;
    bool is_output; /* the count is of the output */
    bool by_block;  /* the count is of the block for one process */
} routines[] = {
    {"MPI_Bcast", PTO_COLLECTIVE_BROADCAST, 3, 4, 6, 0, false, false},
    {"MPI_Allreduce", PTO_COLLECTIVE_ALLREDUCE, 4, 5, 7, 0, false, false},
    {"MPI_Reduce", PTO_COLLECTIVE_REDUCE, 4, 5, 8, 0, false, false},
    {"MPI_Allgather", PTO_COLLECTIVE_ALLGATHER, 3, 4, 8, 0, false, false},
    {"MPI_Gather", PTO_COLLECTIVE_GATHER, 3, 4, 9, 0, false, false},
    {"MPI_Scatter", PTO_COLLECTIVE_SCATTER, 6, 7, 9, 0, true, false},
    {"MPI_Alltoall", PTO_COLLECTIVE_ALLTOALL, 3, 4, 8, 0, false, true},
    {"MPI_Send", PTO_COLLECTIVE_PAIR, 3, 4, 7, 5, false, false},
    {"MPI_Ssend", PTO_COLLECTIVE_PAIR, 3, 4, 7, 5, false, false},
    {"MPI_Bsend", PTO_COLLECTIVE_PAIR, 3, 4, 7, 5, false, false},
    {"MPI_Rsend", PTO_COLLECTIVE_PAIR, 3, 4, 7, 5, false, false},
    {"MPI_Recv", PTO_COLLECTIVE_PAIR, 3, 4, 7, 5, false, false},
    {"MPI_Isend", PTO_COLLECTIVE_PAIR, 3, 4, 7, 5, false, false},
    {"MPI_Issend", PTO_COLLECTIVE_PAIR, 3, 4, 7, 5, false, false},
    {"MPI_Irecv", PTO_COLLECTIVE_PAIR, 3, 4, 7, 5, false, false},
    /* Its two messages, there and back, count as one. */
    {"MPI_Sendrecv", PTO_COLLECTIVE_PAIR, 3, 4, 12, 5, false, false},
};
enum { ROUTINES = sizeof routines / sizeof *routines };

/* Returns whether a routine moves no data of the user. */
static bool is_administration(const char *routine) {
    static const char *const begins[] = {
        "MPI_Init",   "MPI_Finalize",    "MPI_Comm_",   "MPI_Wait",   "MPI_Test",  "MPI_Type_",
        "MPI_Group_", "MPI_Op_",         "MPI_Get_",    "MPI_Wtime",  "MPI_Cart",  "MPI_Dims",
        "MPI_Attr_",  "MPI_Errhandler_", "MPI_Address", "MPI_Keyval", "MPI_Abort", "MPI_Pcontrol",
        "MPI_Probe",  "MPI_Iprobe",      "MPI_Request_"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (pto_text_begins(routine, begins[i]))
            return true;
    return false;
}

/* Reads three numbers, "2,4,4": a type, its size and extent, or a communicator, the rank and its processes.
 */
static bool read_three(char *text, double number[3]) {
    char *end = text;
    for (int i = 0; i < 3; i++) {
        number[i] = strtod(text, &end);
        if (end == text || *end != (i < 2 ? ',' : '\0'))
            return false;
        text = end + 1;
    }
    return true;
}

static pto_status_t count_call(pto_recording_reader_t *reader, int r, char *const field[FIELDS_MAX],
                               int fields) {
    double begin_us, end_us, type[3], communicator[3];
    int64_t count, peer = -1;
    if (fields <= routines[r].communicator + 1)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "%s has too few arguments", field[0]);
    if (!pto_recording_whole(field[routines[r].count], &count) ||
        !read_three(field[routines[r].type], type) ||
        !read_three(field[routines[r].communicator], communicator))
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "%s: not a count, a type and a communicator",
                                  field[0]);
    char *begin_end, *end_end;
    begin_us = strtod(field[1], &begin_end);
    end_us = strtod(field[fields - 1], &end_end);
    if (begin_end == field[1] || *begin_end != '\0' || *end_end != '\0' || !(begin_us >= 0) ||
        !(end_us >= begin_us) || !(end_us < 1e18))
        return pto_recording_fail(reader, PTO_ERR_RANGE, "%s: not two times in their order", field[0]);
    if (!(type[1] >= 0 && type[1] < 1e9 && communicator[1] >= 0 && communicator[2] >= 1 &&
          communicator[2] < 1e9 && communicator[1] < communicator[2] && (double)count < 1e18))
        return pto_recording_fail(reader, PTO_ERR_RANGE, "%s: a number is out of bounds", field[0]);
    if (routines[r].peer > 0 && !pto_recording_whole(field[routines[r].peer], &peer))
        peer = -1; /* any source */
    const bool returns_early = pto_text_begins(field[0], "MPI_I");
    const double bytes = (double)count * type[1], procs = communicator[2];
    if (procs > (double)reader->job_procs)
        reader->job_procs = (int64_t)procs;
    if (reader->trace->rank < 0 || procs >= (double)reader->job_procs)
        reader->trace->rank = (int64_t)communicator[1];
    return pto_recording_count(
        reader, &(pto_recorded_call_t){.collective = routines[r].collective,
                                       .input_bytes = routines[r].is_output  ? -1
                                                      : routines[r].by_block ? bytes * procs
                                                                             : bytes,
                                       .output_bytes = routines[r].is_output ? bytes : -1,
                                       .procs = (int64_t)procs,
                                       .communicator = -1,
                                       .rank = (int64_t)communicator[1],
                                       .peer = peer,
                                       .route = "mpi",
                                       .seconds = returns_early ? 0 : 1e-6 * (end_us - begin_us)});
}

pto_status_t pto_allprof_line(pto_recording_reader_t *reader, char *line) {
    char *field[FIELDS_MAX];
    if (*line == '#' || *line == '\0')
        return PTO_OK;
    if (!pto_text_begins(line, "MPI_") || !strchr(line, ':'))
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "not a call of MPI, 'MPI_NAME:BEGIN:...:END'");
    int fields = pto_recording_split(line, ":", false, field), r = 0;
    while (r < ROUTINES && strcmp(routines[r].routine, field[0]) != 0)
        r++;
    if (r < ROUTINES)
        return count_call(reader, r, field, fields);
    if (!is_administration(field[0]))
        reader->trace->skipped.others++;
    return PTO_OK;
}
