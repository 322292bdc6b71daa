/* Includes the file PROF_LIST once for each type of counts. */
#define COUNT int
#define PLACE int
#define SUFFIX
#include PROF_LIST
#undef COUNT
#undef PLACE
#undef SUFFIX

#define COUNT MPI_Count
#define PLACE MPI_Aint
#define SUFFIX _c
#include PROF_LIST
