/* Reads Chakra execution traces in protobuf: messages one after another, each after its length as a varint.
 * The first is the GlobalMetadata, the others are nodes. protobuf-c parses the messages (chakra.proto). */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "chakra.h"
#include "chakra.pb-c.h"

enum { MESSAGE_MAX = 4 << 20 };

typedef struct {
    unsigned char *bytes;
    size_t size, room;
} message_t;

static void set_place(pto_recording_reader_t *reader) {
    reader->line = 1;
    reader->column = reader->source->offset < INT32_MAX - 1 ? (int)reader->source->offset + 1 : INT32_MAX;
}

/* Reads the length of the next message; `*more` is false if the file ends. */
static pto_status_t read_length(pto_recording_reader_t *reader, size_t *length, bool *more) {
    uint64_t value = 0;
    set_place(reader);
    for (int shift = 0; shift < 64; shift += 7) {
        int byte = pto_source_peek(reader->source);
        if (byte < 0 && shift == 0) {
            *more = false;
            return PTO_OK;
        }
        if (byte < 0)
            return pto_recording_fail(reader, PTO_ERR_SYNTAX, "the file ends within a length");
        pto_source_skip(reader->source, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *length = value < MESSAGE_MAX ? (size_t)value : MESSAGE_MAX;
            return value < MESSAGE_MAX
                       ? PTO_OK
                       : pto_recording_fail(reader, reader->known ? PTO_ERR_TOO_LARGE : PTO_ERR_SYNTAX,
                                            "not Chakra's protobuf, or a message of more than 4 MiB");
        }
    }
    return pto_recording_fail(reader, PTO_ERR_SYNTAX, "not Chakra's protobuf: a length of more than 64 bits");
}

static pto_status_t read_message(pto_recording_reader_t *reader, size_t length, message_t *message) {
    message->size = 0;
    reader->source->items++;
    while (message->size < length) {
        size_t size = pto_source_fill(reader->source), missing = length - message->size;
        if (size == 0)
            return pto_recording_fail(reader, PTO_ERR_SYNTAX, "the file ends within a message");
        size = size < missing ? size : missing;
        if (!PTO_RESERVE(message->bytes, message->room, message->size + size))
            return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory");
        memcpy(message->bytes + message->size, reader->source->buffer + reader->source->at, size);
        message->size += size;
        pto_source_skip(reader->source, size);
    }
    return PTO_OK;
}

/* Returns the attribute's number; -1 if it is none, as no attribute that is read is negative. */
static double number_of(const Chakra__AttributeProto *attribute) {
    switch (attribute->value_case) {
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_DOUBLE_VAL:
        return attribute->double_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_FLOAT_VAL:
        return (double)attribute->float_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_INT32_VAL:
        return attribute->int32_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_INT64_VAL:
        return (double)attribute->int64_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_UINT32_VAL:
        return attribute->uint32_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_UINT64_VAL:
        return (double)attribute->uint64_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_SINT32_VAL:
        return attribute->sint32_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_SINT64_VAL:
        return (double)attribute->sint64_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_FIXED32_VAL:
        return attribute->fixed32_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_FIXED64_VAL:
        return (double)attribute->fixed64_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_SFIXED32_VAL:
        return attribute->sfixed32_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_SFIXED64_VAL:
        return (double)attribute->sfixed64_val;
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_BOOL_VAL:
        return attribute->bool_val ? 1 : 0;
    default:
        return -1;
    }
}

static pto_status_t read_node(pto_recording_reader_t *reader, const message_t *message) {
    if (message->size == 0)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "not Chakra's protobuf: a node without content");
    Chakra__Node *unpacked = chakra__node__unpack(NULL, message->size, message->bytes);
    if (!unpacked)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "not a node of Chakra's protobuf");
    pto_chakra_node_t node = pto_chakra_node();
    node.type = unpacked->type;
    node.name = unpacked->name;
    node.micros =
        unpacked->duration_micros < UINT64_C(1000000000000000) ? (double)unpacked->duration_micros : 0;
    for (size_t i = 0; i < unpacked->n_attr; i++) {
        const Chakra__AttributeProto *attribute = unpacked->attr[i];
        bool is_text = attribute->value_case == CHAKRA__ATTRIBUTE_PROTO__VALUE_STRING_VAL;
        pto_chakra_set(&node, attribute->name, number_of(attribute), is_text ? attribute->string_val : NULL);
    }
    pto_status_t status = pto_chakra_count(reader, &node);
    chakra__node__free_unpacked(unpacked, NULL);
    return status;
}

static pto_status_t read_metadata(pto_recording_reader_t *reader, const message_t *message) {
    Chakra__GlobalMetadata *metadata = chakra__global_metadata__unpack(NULL, message->size, message->bytes);
    if (!metadata)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX,
                                  "a binary file, but not Chakra's protobuf: its first message is not a "
                                  "GlobalMetadata");
    chakra__global_metadata__free_unpacked(metadata, NULL);
    return pto_recording_found(reader, PTO_RECORDING_CHAKRA);
}

pto_status_t pto_recording_read_chakra(pto_recording_reader_t *reader) {
    message_t message = {NULL, 0, 0};
    pto_status_t status = PTO_OK;
    size_t length = 0;
    pto_chakra_find_rank(reader);
    for (bool more = true; status == PTO_OK && more;) {
        status = read_length(reader, &length, &more);
        if (status == PTO_OK && more)
            status = read_message(reader, length, &message);
        if (status == PTO_OK && more)
            status = reader->known ? read_node(reader, &message) : read_metadata(reader, &message);
    }
    free(message.bytes);
    return status;
}
