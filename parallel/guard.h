/* A watch over the waits of an MPI program. A thread of each process ends the job with a named error where
 * the process makes no progress for too long, or where another process of its node shows no sign of life
 * (stopped, or dead without the launcher's notice). What it prints names the step that did not end and, as
 * far as this node's processes go, which process is missing and what the others are doing.
 *
 * There is one guard per process, and only its main thread calls these functions. Nothing here may fail:
 * where a thread or shared memory can't be had, less is watched. */
#ifndef PTO_GUARD_H
#define PTO_GUARD_H

#include <mpi.h>
#include <stdbool.h>

enum { GUARD_TIMEOUT_DEFAULT_S = 20 };

/* Call before MPI_Init, which is the first step that is watched. `program` opens each message and must stay
 * valid. A step may take `timeout_s` without progress, unless it has a limit of its own. */
void guard_begin(const char *program, double timeout_s);

/* Collective, after MPI_Init: from here on the processes of a node watch each other. */
void guard_meet(MPI_Comm comm);

/* Before MPI_Finalize, which is watched too, and after it. */
void guard_part(void);
void guard_end(void);

/* The program's name, as given to guard_begin. */
const char *guard_program(void);
double guard_timeout_s(void);

/* Describe the following steps, for messages: "allreduce of 64 bytes by gsb". May be empty. */
void guard_about(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Begin a step. It may go on for `limit_s` without progress; 0: the time-out; INFINITY: for ever, because
 * something else watches over it. Signs of life are still watched then. */
void guard_step(double limit_s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Progress within the step: the time begins anew, with this limit from now on. It costs a few nanoseconds. */
void guard_tick(double limit_s);

/* Whether this process is to print an error that others may have met as well: true for the first process of
 * each node with this text. Nodes other than the first wait a moment, for the first one's error ends the job.
 */
bool guard_says(const char *text);

/* End the job with exit status `status`, also where MPI itself hangs or is not there. */
_Noreturn void guard_abort(int status);

#endif
