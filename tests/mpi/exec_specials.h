/* Datatypes and operations: each pair of them, and inputs with NaNs, infinities and zeros of both signs. */
#ifndef PTO_EXEC_SPECIALS_H
#define PTO_EXEC_SPECIALS_H

#include "exec_case.h"

/* Random cases of strategies and algorithms whose reductions are the executor's own, on all processes. Ends
 * the job where a result has other bits than IEEE 754-2019's minimum or maximum. */
void specials_run(int64_t count, MPI_Comm comm, const pto_device_t *device);

/* `count` random reductions of every datatype by every operation that it has. Returns how many ran. */
int64_t types_run(int64_t count, MPI_Comm comm, const pto_device_t *device);

#endif
