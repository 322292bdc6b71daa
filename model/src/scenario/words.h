/* The names that a scenario's keys and options accept, as lists (pto_name_at_t). */
#ifndef PTO_SCENARIO_WORDS_H
#define PTO_SCENARIO_WORDS_H

const char *pto_collective_at(int index);
const char *pto_corners_at(int index);
const char *pto_data_memory_at(int index);
const char *pto_datatype_at(int index);
const char *pto_implementation_at(int index);
const char *pto_level_at(int index);
const char *pto_space_at(int index);
const char *pto_split_at(int index);

#endif
