/* A watchdog for MPI programs. A thread of each process ends the job with an error message if the process
 * makes no progress for too long, or if another process of its node shows no sign of life (it was stopped, or
 * died unnoticed by the launcher). The message names the step that did not end. It also names the processes
 * of this node that show no sign of life or, if there are none, those that are in another step.
 *
 * There is one guard per process, and only its main thread calls these functions. They do not fail: without a
 * thread or shared memory, less is watched. */
#ifndef PTO_GUARD_H
#define PTO_GUARD_H

#include <mpi.h>
#include <stdbool.h>

enum { GUARD_TIMEOUT_DEFAULT_S = 20 };

/* Call it before MPI_Init, which is the first step that is watched. `program` begins each message and must
 * stay valid. `timeout_s` is the time that a step may take without progress, unless it has a limit of its
 * own. */
void guard_begin(const char *program, double timeout_s);

/* Collective, after MPI_Init: from here on the processes of a node watch each other. */
void guard_meet(MPI_Comm comm);

/* Call it before MPI_Finalize, which is the last step that is watched. */
void guard_leave_mpi(void);
/* Call it after MPI_Finalize. */
void guard_end(void);

/* The program's name, as given to guard_begin. */
const char *guard_program(void);
double guard_timeout_s(void);

/* Sets what the following steps are about, for messages: "allreduce of 64 bytes by gsb". May be empty. */
void guard_about(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Begins a step. It may take `limit_s` without progress; 0: the time-out; INFINITY: no limit, because
 * something else watches it. Other processes' signs of life are always watched. */
void guard_step(double limit_s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports progress within the step: its time starts again, with this limit. It takes a few nanoseconds. */
void guard_tick(double limit_s);

/* Returns whether this process is to print an error that others may have, too: true for the first process of
 * each node with this text. Nodes other than the first wait a moment: the first one's error ends the job. */
bool guard_says(const char *text);

/* Ends the job with exit status `status`, even if MPI hangs or is not initialized. */
_Noreturn void guard_abort(int status);

#endif
