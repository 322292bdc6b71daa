/* The mapper of libportolan-map, opened at run time. */
#ifndef PTO_MAP_LIBRARY_H
#define PTO_MAP_LIBRARY_H

/* Register the mapper scotch if libportolan-map.so is beside the program, in ../lib from there, or where the
 * system's libraries are. Without it, nothing happens. */
void pto_map_library_open(void);

#endif
