/* The names that a scenario's keys and options accept, as lists (pto_name_at_t). */
#include "scenario/words.h"

#include "base/names.h"
#include "portolan/scenario.h"

PTO_NAME_LIST(pto_collective_at, pto_collective_t, 0, PTO_COLLECTIVE_COUNT, pto_collective_name);
PTO_NAME_LIST(pto_corners_at, pto_corners_t, 0, PTO_CORNERS_COUNT, pto_corners_name);
PTO_NAME_LIST(pto_data_memory_at, pto_data_memory_t, 0, PTO_MEMORY_COUNT, pto_data_memory_name);
PTO_NAME_LIST(pto_datatype_at, pto_datatype_t, 0, PTO_DATATYPE_COUNT, pto_datatype_name);
PTO_NAME_LIST(pto_implementation_at, pto_implementation_t, 0, PTO_IMPLEMENTATION_COUNT,
              pto_implementation_name);
PTO_NAME_LIST(pto_level_at, pto_level_t, 0, PTO_LEVEL_COUNT, pto_level_name);
PTO_NAME_LIST(pto_space_at, pto_space_t, 0, PTO_SPACE_COUNT, pto_space_name);
PTO_NAME_LIST(pto_split_at, pto_split_t, 0, PTO_SPLIT_COUNT, pto_split_name);
