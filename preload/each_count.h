/* Includes the file PRELOAD_LIST, a list of MPI's functions, twice: with int counts for MPI_NAME, and with
 * MPI_Count for MPI_NAME_c of MPI 4. Defines for the list COUNT and DISPL (the types of counts and
 * displacements), SUFFIX ("" or _c), and usual parameters: a collective's input and output, with one count or
 * with counts for each process. */
#define IN_PARAMS const void *in, COUNT in_count, MPI_Datatype in_type
#define OUT_PARAMS void *out, COUNT out_count, MPI_Datatype out_type
#define IN_COUNTS_PARAMS                                                                                     \
    const void *in, const COUNT in_counts[], const DISPL in_displs[], MPI_Datatype in_type
#define OUT_COUNTS_PARAMS void *out, const COUNT out_counts[], const DISPL out_displs[], MPI_Datatype out_type
#define IN_ARGS in, in_count, in_type
#define OUT_ARGS out, out_count, out_type
#define IN_COUNTS_ARGS in, in_counts, in_displs, in_type
#define OUT_COUNTS_ARGS out, out_counts, out_displs, out_type

#define COUNT int
#define DISPL int
#define SUFFIX
#include PRELOAD_LIST
#undef COUNT
#undef DISPL
#undef SUFFIX

#if PRELOAD_HAS_LARGE
#define COUNT MPI_Count
#define DISPL MPI_Aint
#define SUFFIX _c
#include PRELOAD_LIST
#endif
