/* A YAML document as a small tree in which every node records its line and column. */
#ifndef PTO_YAML_TREE_H
#define PTO_YAML_TREE_H

#include <stddef.h>

#include "portolan/api.h"

typedef enum { PTO_YAML_SCALAR, PTO_YAML_LIST, PTO_YAML_MAPPING } pto_yaml_kind_t;

enum { PTO_YAML_DEPTH_MAX = 16 };

/* Lines and columns count from 1. */
typedef struct pto_yaml_node {
    pto_yaml_kind_t kind;
    int line;
    int column;
    int file;   /* index of its file in a tree that was merged from several files; else 0 */
    char *text; /* of a scalar, as written, without quotes; contains no NULs */
    char *key;  /* if the node is a value of a mapping */
    int key_line;
    int key_column;
    int child_count;
    struct pto_yaml_node *child; /* the first of a list or mapping */
    struct pto_yaml_node *next;  /* of the same parent, in the file's order */
} pto_yaml_node_t;

/* Parse exactly one document, nested at most PTO_YAML_DEPTH_MAX deep, without anchors, aliases or tags.
 * Duplicate keys are kept. Errors: PTO_ERR_SYNTAX, PTO_ERR_MEMORY, with file (`path`), line and column. */
pto_status_t pto_yaml_parse(const char *text, size_t text_size, const char *path, pto_yaml_node_t **root,
                            pto_error_t *err);
void pto_yaml_destroy(pto_yaml_node_t *root);
/* Returns the value of a mapping's key, the first of duplicates; NULL if there is none. */
const pto_yaml_node_t *pto_yaml_find(const pto_yaml_node_t *mapping, const char *key);

#endif
