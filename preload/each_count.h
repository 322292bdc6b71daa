/* Includes the file PRELOAD_LIST once for each type of counts. */
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
