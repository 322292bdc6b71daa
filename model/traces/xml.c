/* Parses XML with expat. Depth, elements and bytes are limited, and entities, which expand, refused. */
#include "xml.h"

#include <expat.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/text_file.h"

enum { FILE_BYTES_MAX = 16 << 20, ELEMENTS_MAX = 1 << 17, DEPTH_MAX = 256 };

/* The state of parsing a file. */
typedef struct {
    pto_xml_t *xml;
    XML_Parser parser;
    int open[DEPTH_MAX]; /* indexes of the open elements, outermost first */
    int depth;
    size_t capacity;     /* of xml->element */
    pto_status_t status; /* why parsing was stopped */
} parsing_t;

static void stop(parsing_t *parsing, pto_status_t status) {
    parsing->status = status;
    (void)XML_StopParser(parsing->parser, XML_FALSE);
}

static char **copy_attributes(const char **attribute) {
    int count = 0;
    while (attribute[count])
        count++;
    char **copy = calloc((size_t)count + 1, sizeof *copy);
    for (int i = 0; copy && i < count; i++)
        if (!(copy[i] = pto_text_copy(attribute[i]))) {
            for (; i > 0; i--)
                free(copy[i - 1]);
            free(copy);
            return NULL;
        }
    return copy;
}

static void XMLCALL begin(void *context, const char *name, const char **attribute) {
    parsing_t *parsing = context;
    pto_xml_t *xml = parsing->xml;
    if (xml->count == ELEMENTS_MAX || parsing->depth == DEPTH_MAX) {
        stop(parsing, PTO_ERR_TOO_LARGE);
        return;
    }
    if (!PTO_RESERVE(xml->element, parsing->capacity, xml->count + 1)) {
        stop(parsing, PTO_ERR_MEMORY);
        return;
    }
    pto_xml_element_t *element = &xml->element[xml->count++];
    *element = (pto_xml_element_t){.parent = parsing->depth > 0 ? parsing->open[parsing->depth - 1] : -1,
                                   .line = (int)XML_GetCurrentLineNumber(parsing->parser),
                                   .name = pto_text_copy(name),
                                   .attribute = copy_attributes(attribute),
                                   .text = pto_text_copy("")};
    parsing->open[parsing->depth++] = xml->count - 1;
    if (!element->name || !element->attribute || !element->text)
        stop(parsing, PTO_ERR_MEMORY);
}

static void XMLCALL end(void *context, const char *name) {
    (void)name;
    ((parsing_t *)context)->depth--;
}

/* `text` is not terminated. */
static bool is_blank(const char *text, int length) {
    for (int i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i]))
            return false;
    return true;
}

static void XMLCALL add_text(void *context, const char *text, int length) {
    parsing_t *parsing = context;
    if (parsing->depth == 0)
        return;
    pto_xml_element_t *element = &parsing->xml->element[parsing->open[parsing->depth - 1]];
    if (element->text[0] == '\0' && is_blank(text, length))
        return;
    char *grown = realloc(element->text, element->text_bytes + (size_t)length + 1);
    if (!grown) {
        stop(parsing, PTO_ERR_MEMORY);
        return;
    }
    memcpy(grown + element->text_bytes, text, (size_t)length);
    element->text = grown;
    element->text_bytes += (size_t)length;
    element->text[element->text_bytes] = '\0';
}

static void XMLCALL refuse_entity(void *context, const char *name, int is_parameter, const char *value,
                                  int value_length, const char *base, const char *system, const char *public,
                                  const char *notation) {
    (void)name, (void)is_parameter, (void)value, (void)value_length;
    (void)base, (void)system, (void)public, (void)notation;
    stop(context, PTO_ERR_SYNTAX);
}

pto_status_t pto_xml_parse(const char *text, size_t size, const char *path, pto_xml_t *xml,
                           pto_error_t *err) {
    pto_xml_t parsed = {0};
    parsing_t parsing = {.xml = &parsed, .parser = XML_ParserCreate(NULL), .status = PTO_OK};
    if (!parsing.parser)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory");
    XML_SetUserData(parsing.parser, &parsing);
    XML_SetElementHandler(parsing.parser, begin, end);
    XML_SetCharacterDataHandler(parsing.parser, add_text);
    XML_SetEntityDeclHandler(parsing.parser, refuse_entity);
    pto_status_t status = PTO_OK;
    if (XML_Parse(parsing.parser, text, (int)size, XML_TRUE) != XML_STATUS_OK) {
        const int line = (int)XML_GetCurrentLineNumber(parsing.parser);
        const int column = (int)XML_GetCurrentColumnNumber(parsing.parser) + 1;
        if (parsing.status == PTO_ERR_TOO_LARGE)
            status =
                pto_error_set_at(err, parsing.status, path, line, column,
                                 "more than %d elements, or %d within each other", ELEMENTS_MAX, DEPTH_MAX);
        else if (parsing.status == PTO_ERR_MEMORY)
            status = pto_error_set(err, parsing.status, "out of memory");
        else if (size > strspn(text, " \t\r\n") && text[strspn(text, " \t\r\n")] != '<' &&
                 pto_byte_order_mark(text, size) == 0)
            status =
                pto_error_set_at(err, PTO_ERR_SYNTAX, path, 1, 1,
                                 "not XML, as `lstopo FILE.xml` and NCCL_TOPO_DUMP_FILE write it; `portolan "
                                 "topology FILE.txt` reads what `nvidia-smi topo -m` prints");
        else
            status =
                pto_error_set_at(err, PTO_ERR_SYNTAX, path, line, column, "malformed XML: %s",
                                 parsing.status == PTO_OK ? XML_ErrorString(XML_GetErrorCode(parsing.parser))
                                                          : "it declares entities");
    }
    XML_ParserFree(parsing.parser);
    if (status == PTO_OK)
        *xml = parsed;
    else
        pto_xml_fini(&parsed);
    return status;
}

PTO_TEXT_READER(pto_xml_read, pto_xml_parse, pto_xml_t *, xml, FILE_BYTES_MAX);

void pto_xml_fini(pto_xml_t *xml) {
    for (int i = 0; i < xml->count; i++) {
        pto_xml_element_t *element = &xml->element[i];
        for (int a = 0; element->attribute && element->attribute[a]; a++)
            free(element->attribute[a]);
        free(element->attribute);
        free(element->name);
        free(element->text);
    }
    free(xml->element);
    *xml = (pto_xml_t){0};
}

const char *pto_xml_attribute(const pto_xml_t *xml, int element, const char *name) {
    char **attribute = xml->element[element].attribute;
    for (int i = 0; attribute[i]; i += 2)
        if (strcmp(attribute[i], name) == 0)
            return attribute[i + 1];
    return "";
}
