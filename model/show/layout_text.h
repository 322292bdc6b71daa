/* Layouts in words: nodes, and what is on each. */
#ifndef PTO_LAYOUT_TEXT_H
#define PTO_LAYOUT_TEXT_H

#include "portolan/scenario.h"

enum { PTO_LAYOUT_TEXT_MAX = 128 };

/* Returns "6 GPUs a node, 1 process a GPU", or "64 processes a node, data in host memory", in `text`. */
const char *pto_node_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]);

/* Returns this text after "1 node, " or "2 nodes, ". */
const char *pto_nodes_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]);

/* Returns "2 nodes x 6 GPUs = 12 GPUs, 1 process a GPU", or "2 nodes x 64 processes = 128, data in host
 * memory". */
const char *pto_layout_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]);

#endif
