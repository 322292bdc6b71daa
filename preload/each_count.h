/* Includes the file PRELOAD_LIST once for each type of counts. For its parameters of collectives: the input
 * and the output, of one count or of those for each process. */
#define IN_PARAMS const void *in, COUNT in_count, MPI_Datatype in_type
#define OUT_PARAMS void *out, COUNT out_count, MPI_Datatype out_type
#define IN_COUNTS_PARAMS                                                                                     \
    const void *in, const COUNT in_counts[], const PLACE in_places[], MPI_Datatype in_type
#define OUT_COUNTS_PARAMS void *out, const COUNT out_counts[], const PLACE out_places[], MPI_Datatype out_type
#define IN_ARGS in, in_count, in_type
#define OUT_ARGS out, out_count, out_type
#define IN_COUNTS_ARGS in, in_counts, in_places, in_type
#define OUT_COUNTS_ARGS out, out_counts, out_places, out_type

#define COUNT int
#define PLACE int
#define SUFFIX
#include PRELOAD_LIST
#undef COUNT
#undef PLACE
#undef SUFFIX

#if PRELOAD_HAS_LARGE
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define SUFFIX _c
#include PRELOAD_LIST
#endif
