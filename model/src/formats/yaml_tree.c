/* A YAML document as a tree, built from libyaml's events. Events, unlike libyaml's own documents, let us stop
 * at a maximum depth before memory is spent, and refuse features that a parameter file does not need
 * (aliases, tags, several documents). */
#include "formats/yaml_tree.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/text_file.h"

typedef struct {
    yaml_parser_t parser;
    const char *text;
    const char *path;
    pto_error_t *err;
} builder_t;

/* libyaml counts lines and columns from 0. */
static int from_one(size_t mark) { return mark < INT_MAX ? (int)mark + 1 : INT_MAX; }

static pto_status_t fail_at(const builder_t *builder, yaml_mark_t mark, const char *message) {
    return pto_error_set_at(builder->err, PTO_ERR_SYNTAX, builder->path, from_one(mark.line),
                            from_one(mark.column), "%s", message);
}

/* libyaml's reader (which checks the encoding) reports only a byte offset. */
static yaml_mark_t mark_of_offset(const char *text, size_t offset) {
    yaml_mark_t mark = {.index = offset, .line = 0, .column = 0};
    for (size_t i = 0; i < offset; i++) {
        mark.column++;
        if (text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        }
    }
    return mark;
}

static pto_status_t parser_error(const builder_t *builder) {
    const yaml_parser_t *parser = &builder->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return pto_error_set_at(builder->err, PTO_ERR_MEMORY, builder->path, 1, 1, "out of memory");
    yaml_mark_t mark = parser->problem_mark;
    if (parser->error == YAML_READER_ERROR)
        mark = mark_of_offset(builder->text, parser->problem_offset);
    return pto_error_set_at(builder->err, PTO_ERR_SYNTAX, builder->path, from_one(mark.line),
                            from_one(mark.column), "malformed YAML: %s%s%s",
                            parser->problem ? parser->problem : "cannot go on", parser->context ? " " : "",
                            parser->context ? parser->context : "");
}

static pto_status_t next_event(builder_t *builder, yaml_event_t *event) {
    return yaml_parser_parse(&builder->parser, event) ? PTO_OK : parser_error(builder);
}

/* Returns why the first event of a value is not supported; NULL: it is. */
static const char *unwanted_in(const yaml_event_t *event) {
    const yaml_char_t *anchor = NULL, *tag = NULL;
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return "aliases (*name) are not supported here: write the value out";
    case YAML_SCALAR_EVENT:
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        if (memchr(event->data.scalar.value, 0, event->data.scalar.length))
            return "a NUL character is not supported here";
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        break;
    default:
        return "expected a value";
    }
    if (anchor)
        return "anchors (&name) are not supported here: write the value out where it is needed";
    return tag ? "tags (!name) are not supported here" : NULL;
}

/* Makes the node of a value's first event, without children. */
static pto_status_t make_node(const builder_t *builder, const yaml_event_t *event, pto_yaml_node_t **node) {
    const char *unwanted = unwanted_in(event);
    if (unwanted)
        return fail_at(builder, event->start_mark, unwanted);
    pto_yaml_node_t *made = calloc(1, sizeof *made);
    if (made && event->type == YAML_SCALAR_EVENT)
        made->text = pto_text_copy((const char *)event->data.scalar.value);
    if (!made || (event->type == YAML_SCALAR_EVENT && !made->text)) {
        free(made);
        return pto_error_set_at(builder->err, PTO_ERR_MEMORY, builder->path, 1, 1, "out of memory");
    }
    made->kind = event->type == YAML_SCALAR_EVENT           ? PTO_YAML_SCALAR
                 : event->type == YAML_SEQUENCE_START_EVENT ? PTO_YAML_LIST
                                                            : PTO_YAML_MAPPING;
    made->line = from_one(event->start_mark.line);
    made->column = from_one(event->start_mark.column);
    *node = made;
    return PTO_OK;
}

/* Makes a node for a mapping's key. build_child moves its text to the value that follows. */
static pto_status_t read_key(builder_t *builder, const yaml_event_t *event, pto_yaml_node_t **key) {
    pto_status_t status = make_node(builder, event, key);
    if (status != PTO_OK || (*key)->kind == PTO_YAML_SCALAR)
        return status;
    free(*key);
    *key = NULL;
    return fail_at(builder, event->start_mark, "a key must be a plain word");
}

static pto_status_t build(builder_t *builder, const yaml_event_t *event, int depth, pto_yaml_node_t **node);

/* Builds one child from its first event, which is the key if the parent is a mapping (`keyed`). */
static pto_status_t build_child(builder_t *builder, const yaml_event_t *event, int depth, bool keyed,
                                pto_yaml_node_t **child) {
    if (!keyed)
        return build(builder, event, depth, child);
    pto_yaml_node_t *key = NULL;
    pto_status_t status = read_key(builder, event, &key);
    if (status != PTO_OK)
        return status;
    yaml_event_t value = {0};
    status = next_event(builder, &value);
    if (status == PTO_OK) {
        status = build(builder, &value, depth, child);
        yaml_event_delete(&value);
    }
    if (status == PTO_OK) {
        (*child)->key = key->text;
        (*child)->key_line = key->line;
        (*child)->key_column = key->column;
        key->text = NULL;
    }
    pto_yaml_destroy(key);
    return status;
}

static pto_status_t build_children(builder_t *builder, int depth, pto_yaml_node_t *parent) {
    bool keyed = parent->kind == PTO_YAML_MAPPING;
    yaml_event_type_t end = keyed ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
    pto_yaml_node_t **tail = &parent->child;
    for (;;) {
        yaml_event_t event = {0};
        pto_status_t status = next_event(builder, &event);
        if (status != PTO_OK)
            return status;
        bool ended = event.type == end;
        if (!ended)
            status = build_child(builder, &event, depth, keyed, tail);
        yaml_event_delete(&event);
        if (ended || status != PTO_OK)
            return status;
        tail = &(*tail)->next;
        parent->child_count++;
    }
}

/* Builds a value with its children from its first event. */
static pto_status_t build(builder_t *builder, const yaml_event_t *event, int depth, pto_yaml_node_t **node) {
    if (depth > PTO_YAML_DEPTH_MAX)
        return fail_at(builder, event->start_mark, "nested too deeply");
    pto_yaml_node_t *made = NULL;
    pto_status_t status = make_node(builder, event, &made);
    if (!made)
        return status;
    if (made->kind != PTO_YAML_SCALAR)
        status = build_children(builder, depth + 1, made);
    if (status != PTO_OK) {
        pto_yaml_destroy(made);
        return status;
    }
    *node = made;
    return PTO_OK;
}

/* Skips the start of the stream and of the document, and the end of the document. Sets `*event` to the next
 * one: the first of a value, or the end of the stream; and `*in_document` to whether a document has started.
 */
static pto_status_t next_content(builder_t *builder, yaml_event_t *event, bool *in_document) {
    int documents = 0;
    for (;;) {
        pto_status_t status = next_event(builder, event);
        if (status != PTO_OK)
            return status;
        if (event->type == YAML_DOCUMENT_START_EVENT)
            documents++;
        else if (event->type != YAML_STREAM_START_EVENT && event->type != YAML_DOCUMENT_END_EVENT)
            break;
        yaml_event_delete(event);
    }
    *in_document = documents > 0;
    return PTO_OK;
}

static pto_status_t expect_end(builder_t *builder) {
    yaml_event_t event = {0};
    bool another = false;
    pto_status_t status = next_content(builder, &event, &another);
    if (status != PTO_OK)
        return status;
    if (another)
        status = fail_at(builder, event.start_mark, "a second document: a file holds only one");
    yaml_event_delete(&event);
    return status;
}

static pto_status_t build_document(builder_t *builder, pto_yaml_node_t **root) {
    yaml_event_t event = {0};
    bool any = false;
    pto_status_t status = next_content(builder, &event, &any);
    if (status != PTO_OK)
        return status;
    if (any)
        status = build(builder, &event, 1, root);
    else
        status = fail_at(builder, event.start_mark, "the file is empty");
    yaml_event_delete(&event);
    return status == PTO_OK ? expect_end(builder) : status;
}

pto_status_t pto_yaml_parse(const char *text, size_t text_size, const char *path, pto_yaml_node_t **root,
                            pto_error_t *err) {
    size_t mark = pto_byte_order_mark(text, text_size);
    text += mark; /* libyaml would count it as a column */
    text_size -= mark;
    builder_t builder = {.text = text, .path = path, .err = err};
    if (!yaml_parser_initialize(&builder.parser))
        return pto_error_set_at(err, PTO_ERR_MEMORY, path, 1, 1, "out of memory");
    /* Set explicitly: libyaml's detection would take some malformed files for UTF-16. */
    yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, text_size);
    pto_yaml_node_t *built = NULL;
    pto_status_t status = build_document(&builder, &built);
    yaml_parser_delete(&builder.parser);
    if (status != PTO_OK) {
        pto_yaml_destroy(built);
        return status;
    }
    *root = built;
    return PTO_OK;
}

/* Recurses only as deep as the tree: siblings are walked in a loop. */
void pto_yaml_destroy(pto_yaml_node_t *root) {
    while (root) {
        pto_yaml_node_t *next = root->next;
        pto_yaml_destroy(root->child);
        free(root->text);
        free(root->key);
        free(root);
        root = next;
    }
}

const pto_yaml_node_t *pto_yaml_find(const pto_yaml_node_t *mapping, const char *key) {
    const pto_yaml_node_t *node = mapping->kind == PTO_YAML_MAPPING ? mapping->child : NULL;
    while (node && strcmp(node->key, key) != 0)
        node = node->next;
    return node;
}
