/* XML as a list of elements, for the topologies that other tools write. */
#ifndef PTO_TRACES_XML_H
#define PTO_TRACES_XML_H

#include <stddef.h>

#include "portolan/api.h"

typedef struct {
    int parent; /* its index; -1 if none */
    int line;
    char *name;
    char **attribute; /* names and values in turn, then NULL */
    char *text;       /* without that of elements within it; never NULL */
    size_t text_bytes;
} pto_xml_element_t;

typedef struct {
    pto_xml_element_t *element; /* in the order of their begin tags */
    int count;
} pto_xml_t;

/* Reads a file. Errors: PTO_ERR_IO, _TOO_LARGE, _MEMORY; PTO_ERR_SYNTAX with the place, also for entities
 * that the file defines. */
pto_status_t pto_xml_read(const char *path, pto_xml_t *xml, pto_error_t *err);

/* Parses a text; messages call it `path`. Errors: as above. */
pto_status_t pto_xml_parse(const char *text, size_t size, const char *path, pto_xml_t *xml, pto_error_t *err);

void pto_xml_fini(pto_xml_t *xml);

/* Returns an attribute's value; "" if there is none. */
const char *pto_xml_attribute(const pto_xml_t *xml, int element, const char *name);

#endif
