/* A node of a Chakra execution trace, in any of its forms. */
#ifndef PTO_TRACES_CHAKRA_H
#define PTO_TRACES_CHAKRA_H

#include "reader.h"

/* NodeType of Chakra's schema. */
enum { PTO_CHAKRA_SEND = 5, PTO_CHAKRA_RECV = 6, PTO_CHAKRA_COLLECTIVE = 7 };

/* What is used of a node. Numbers are negative if the node does not have them. */
typedef struct {
    int type; /* one of the above; others are not counted */
    const char *name;
    pto_collective_t collective; /* PTO_COLLECTIVE_COUNT if only the name says which */
    double bytes;                /* comm_size: what the process contributes */
    double source, destination;
    double procs;  /* of its process group */
    double micros; /* 0 if unknown */
    bool is_cpu_op;
} pto_chakra_node_t;

/* Returns a node of which nothing is known. */
pto_chakra_node_t pto_chakra_node(void);
/* Sets an attribute by its name, to the text or, if it is NULL, to the number; unknown ones are ignored. */
void pto_chakra_set(pto_chakra_node_t *node, const char *attribute, double number, const char *text);
/* Counts a node if it communicates. */
pto_status_t pto_chakra_count(pto_recording_reader_t *reader, const pto_chakra_node_t *node);
/* Sets the trace's rank by the file's name, as in "trace.3.et", unless it is known. */
void pto_chakra_find_rank(pto_recording_reader_t *reader);

#endif
