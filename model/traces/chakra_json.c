/* Reads nodes of execution traces in JSON, which json.c passes: of Chakra's `workload_graph`; of Chakra's
 * protobuf, as protobuf's tools convert it to JSON; and of the trace of PyTorch's observer, from which
 * Chakra's converter starts. */
#include <string.h>

#include "chakra.h"

/* Returns a number, a boolean, or a number in quotes, as protobuf writes those of 64 bits; else -1. */
static double number_of(const json_t *value) {
    double number = json_number_value(value);
    int64_t whole;
    if (json_is_boolean(value))
        return json_boolean_value(value) ? 1 : 0;
    if (json_is_string(value))
        return pto_recording_whole(json_string_value(value), &whole) ? (double)whole : -1;
    return json_is_number(value) && number >= 0 && number < 1e18 ? number : -1;
}

static double micros_of(const json_t *value) {
    double micros = number_of(value);
    return micros > 0 && micros < 1e15 ? micros : 0;
}

/* Returns a node's type; -1 for types that are not read. */
static int type_of(double number) { return number <= PTO_CHAKRA_COLLECTIVE ? (int)number : -1; }

pto_status_t pto_chakra_graph_node(pto_recording_reader_t *reader, const json_t *object) {
    pto_chakra_node_t node = pto_chakra_node();
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return pto_recording_fail(reader, PTO_ERR_TYPE, "a node is not an object");
    pto_chakra_find_rank(reader);
    node.type = type_of(number_of(json_object_get(object, "NodeType")));
    node.name = pto_json_text(object, "Name");
    node.micros = micros_of(json_object_get(object, "runtime"));
    json_object_foreach((json_t *)object, key, value) {
        pto_chakra_set(&node, key, number_of(value), json_string_value(value));
    }
    return pto_chakra_count(reader, &node);
}

static int type_named(const char *name) {
    return strcmp(name, "COMM_SEND_NODE") == 0   ? PTO_CHAKRA_SEND
           : strcmp(name, "COMM_RECV_NODE") == 0 ? PTO_CHAKRA_RECV
           : strcmp(name, "COMM_COLL_NODE") == 0 ? PTO_CHAKRA_COLLECTIVE
                                                 : -1;
}

pto_status_t pto_chakra_record(pto_recording_reader_t *reader, const json_t *record) {
    const char *type = pto_json_text(record, "type");
    const json_t *attribute;
    size_t i;
    if (!strstr(type, "_NODE") && !json_object_get(record, "version"))
        return PTO_OK;
    pto_status_t status = pto_recording_found(reader, PTO_RECORDING_CHAKRA_JSON);
    pto_chakra_node_t node = pto_chakra_node();
    pto_chakra_find_rank(reader);
    node.type = type_named(type);
    node.name = pto_json_text(record, "name");
    node.micros = micros_of(json_object_get(record, "durationMicros"));
    json_array_foreach(json_object_get(record, "attr"), i, attribute) {
        const char *name = pto_json_text(attribute, "name"), *key;
        json_t *value;
        json_object_foreach((json_t *)attribute, key, value) {
            if (strcmp(key, "name") != 0)
                pto_chakra_set(&node, name, number_of(value), NULL);
        }
    }
    return status == PTO_OK ? pto_chakra_count(reader, &node) : status;
}

/* Returns the bytes of nested lists of tensors: [id, storage, offset, elements, element's bytes, device]. */
static double tensor_bytes(const json_t *value, int depth) {
    enum { DEPTH_MAX = 4 };
    const json_t *element;
    size_t i;
    double bytes = 0;
    if (json_is_number(json_array_get(value, 0))) {
        double elements = number_of(json_array_get(value, 3)), each = number_of(json_array_get(value, 4));
        return elements > 0 && each > 0 ? elements * each : 0;
    }
    if (depth == DEPTH_MAX)
        return 0;
    json_array_foreach(value, i, element) { bytes += tensor_bytes(element, depth + 1); }
    return bytes;
}

static const json_t *attribute_of(const json_t *node, const char *name) {
    const json_t *attribute;
    size_t i;
    json_array_foreach(json_object_get(node, "attrs"), i, attribute) {
        if (strcmp(pto_json_text(attribute, "name"), name) == 0)
            return json_object_get(attribute, "value");
    }
    return NULL;
}

/* Traces of schema 1.1 describe a call by attributes. Older ones do so among the inputs: tensors, ..., the
 * collective's name, the splits, the size of the group. */
pto_status_t pto_pytorch_node(pto_recording_reader_t *reader, const json_t *node) {
    const json_t *inputs = json_object_get(json_object_get(node, "inputs"), "values"), *value;
    const json_t *outputs = json_object_get(json_object_get(node, "outputs"), "values");
    const char *name = json_string_value(attribute_of(node, "collective_name"));
    const char *type = json_string_value(attribute_of(node, "dtype"));
    double procs = number_of(attribute_of(node, "pg_size"));
    size_t i, last = json_array_size(inputs);
    if (!json_is_object(node))
        return pto_recording_fail(reader, PTO_ERR_TYPE, "a node is not an object");
    if (strcmp(pto_json_text(node, "name"), "record_param_comms") != 0)
        return PTO_OK;
    json_array_foreach(inputs, i, value) {
        if (!name)
            name = json_string_value(value);
    }
    if (!name || strcmp(name, "wait") == 0)
        return PTO_OK;
    if (procs < 0 && last > 0)
        procs = number_of(json_array_get(inputs, last - 1));
    pto_recorded_call_t call = {.collective = pto_recording_collective(name),
                                .input_bytes = tensor_bytes(json_array_get(inputs, 0), 0),
                                .output_bytes = tensor_bytes(json_array_get(outputs, 0), 0),
                                .procs = procs >= 1 && procs < 1 << 24 ? (int64_t)procs : 0,
                                .communicator = -1,
                                .rank = -1,
                                .peer = -1,
                                .route = "nccl",
                                .is_launch = true};
    int element = type ? pto_recording_element_bytes(type) : 0;
    double in = number_of(attribute_of(node, "in_msg_nelems")),
           out = number_of(attribute_of(node, "out_msg_nelems"));
    if (element > 0 && in > 0)
        call.input_bytes = in * element;
    if (element > 0 && out > 0)
        call.output_bytes = out * element;
    return pto_recording_count(reader, &call);
}
