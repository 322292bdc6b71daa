/* One-sided functions that have counts, for each_count.h: ACCESS(name, name of the form with a request,
 * parameters, arguments, local buffer that is written to the target, local buffer that receives), and
 * CREATES(name, parameters, arguments, space of the window's memory). */
ACCESS(Put, Rput, (ACCESS_PARAMS(const void)), (ACCESS_ARGS), BUFFER, none)
ACCESS(Get, Rget, (ACCESS_PARAMS(void)), (ACCESS_ARGS), none, BUFFER)
ACCESS(Accumulate, Raccumulate, (ACCESS_PARAMS(const void), MPI_Op op), (ACCESS_ARGS, op), BUFFER, none)
ACCESS(Get_accumulate, Rget_accumulate, (GET_ACCUMULATE_PARAMS), (GET_ACCUMULATE_ARGS), WRITES_BY(op),
       SIDE(result, result_count, result_type))

CREATES(Win_create, (void *memory, MPI_Aint bytes, DISPL unit, MPI_Info info, MPI_Comm comm, MPI_Win *window),
        (memory, bytes, unit, info, comm, window), preload_space(memory))
CREATES(Win_allocate,
        (MPI_Aint bytes, DISPL unit, MPI_Info info, MPI_Comm comm, void *memory, MPI_Win *window),
        (bytes, unit, info, comm, memory, window), preload_space(*(void **)memory))
CREATES(Win_allocate_shared,
        (MPI_Aint bytes, DISPL unit, MPI_Info info, MPI_Comm comm, void *memory, MPI_Win *window),
        (bytes, unit, info, comm, memory, window), preload_space(*(void **)memory))
