/* Reads recordings in JSON. jansson parses each event of a trace as a document of its own, so memory depends
 * on the largest event and not on the file. This file itself reads the brackets, commas and keys around the
 * events. It skips events without effect, which are most of a Kineto trace, unparsed. It passes events to
 * kineto.c or chakra_json.c, and whole documents to nccl_tests.c, inspector.c or chakra_json.c. */
#include <ctype.h>
#include <string.h>

#include "reader.h"

enum { VALUE_MAX = 4 << 20, PROCS_MAX = 1 << 24 };

/* The source of one value for jansson. feed_some passes bytes only up to the next place where the value may
 * end, so that jansson never takes bytes that follow it. */
typedef struct {
    pto_source_t *source;
    size_t used;   /* bytes passed so far */
    bool is_plain; /* a number, true, false or null, which ends before the next separator */
} feed_t;

static bool ends_value(const feed_t *feed, int byte) {
    if (feed->is_plain)
        return byte == ',' || byte == '}' || byte == ']' || isspace(byte);
    return byte == '}' || byte == ']' || byte == '"';
}

static size_t feed_some(void *buffer, size_t room, void *data) {
    feed_t *feed = data;
    size_t size = pto_source_fill(feed->source), used = 0;
    const unsigned char *from = feed->source->buffer + feed->source->at;
    size = size < room ? size : room;
    while (used < size && !ends_value(feed, from[used]))
        used++;
    if (used < size && !feed->is_plain)
        used++;
    feed->used += used;
    if (feed->used > VALUE_MAX)
        return (size_t)-1;
    memcpy(buffer, from, used);
    pto_source_skip(feed->source, used);
    return used;
}

/* Skips white space. Returns the byte after it, which is not skipped; -1 at the end. */
static int next_byte(pto_source_t *source) {
    for (size_t size; (size = pto_source_fill(source)) > 0;) {
        const unsigned char *from = source->buffer + source->at;
        size_t used = 0;
        while (used < size && isspace(from[used]))
            used++;
        pto_source_skip(source, used);
        if (used < size)
            return from[used];
    }
    return -1;
}

static void set_place(pto_recording_reader_t *reader) {
    reader->line = reader->source->line;
    reader->column = reader->source->column < INT32_MAX ? (int)reader->source->column : INT32_MAX;
}

static pto_status_t fail_here(pto_recording_reader_t *reader, const char *expected) {
    set_place(reader);
    int byte = pto_source_peek(reader->source);
    if (byte < 0)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "the file ends before %s", expected);
    return isprint(byte)
               ? pto_recording_fail(reader, PTO_ERR_SYNTAX, "'%c' instead of %s", byte, expected)
               : pto_recording_fail(reader, PTO_ERR_SYNTAX, "byte %d instead of %s", byte, expected);
}

/* Reads any value, to be freed with json_decref. Sets the reader's place to its beginning, or to an error. */
static pto_status_t read_value(pto_recording_reader_t *reader, json_t **value) {
    int first = next_byte(reader->source);
    feed_t feed = {.source = reader->source, .is_plain = first != '{' && first != '[' && first != '"'};
    json_error_t error;
    reader->source->items++;
    if (first < 0)
        return fail_here(reader, "a value");
    set_place(reader);
    *value = json_load_callback(
        feed_some, &feed, JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL,
        &error);
    if (*value)
        return PTO_OK;
    if (feed.used > VALUE_MAX)
        return pto_recording_fail(reader, PTO_ERR_TOO_LARGE, "a value of more than 4 MiB");
    set_place(reader);
    if (json_error_code(&error) == json_error_premature_end_of_input)
        return pto_recording_fail(reader, PTO_ERR_SYNTAX, "the file ends within a value");
    return pto_recording_fail(
        reader, json_error_code(&error) == json_error_out_of_memory ? PTO_ERR_MEMORY : PTO_ERR_SYNTAX,
        "not JSON: %s", error.text);
}

const char *pto_json_text(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Reads an element of an array. */
typedef pto_status_t element_t(pto_recording_reader_t *reader, const json_t *element);
/* Returns whether reading an element with this text can have an effect. */
typedef bool may_matter_t(const char *text);

/* Skips a comma, or the closing bracket: then `*more` is false. */
static pto_status_t next_member(pto_recording_reader_t *reader, char close, bool *more) {
    int byte = next_byte(reader->source);
    if (byte != ',' && byte != close)
        return fail_here(reader, close == '}' ? "',' or '}'" : "',' or ']'");
    pto_source_skip(reader->source, 1);
    *more = byte == ',';
    return PTO_OK;
}

/* Skips an opening bracket. If nothing is inside, skips the closing one, too, and returns false. */
static bool open_bracket(pto_source_t *source, char close) {
    pto_source_skip(source, 1);
    if (next_byte(source) != close)
        return true;
    pto_source_skip(source, 1);
    return false;
}

/* Returns the length of an object or array; 0 if the text ends before it does. */
static size_t length_of(const char *text, size_t size) {
    size_t depth = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"')
            for (i++; i < size && text[i] != '"'; i++)
                i += text[i] == '\\';
        else if (text[i] == '{' || text[i] == '[')
            depth++;
        else if ((text[i] == '}' || text[i] == ']') && --depth == 0)
            return i + 1;
    }
    return 0;
}

/* Skips an object without effect, unparsed. False if it may have one, or if the buffer lacks its end. */
static bool skip_object(pto_recording_reader_t *reader, may_matter_t *may_matter) {
    pto_source_t *source = reader->source;
    if (next_byte(source) != '{')
        return false;
    size_t length = length_of((const char *)source->buffer + source->at, source->end - source->at);
    if (length == 0 && pto_source_extend(source))
        length = length_of((const char *)source->buffer + source->at, source->end - source->at);
    if (length == 0)
        return false;
    char *text = (char *)source->buffer + source->at, next = text[length];
    text[length] = '\0';
    const bool skips = strlen(text) == length && !may_matter(text);
    text[length] = next;
    if (skips) {
        source->items++;
        pto_source_skip(source, length);
    }
    return skips;
}

/* Reads an array, and passes each element to `element`, unless that is NULL or the object has no effect. */
static pto_status_t read_array(pto_recording_reader_t *reader, element_t *element, may_matter_t *may_matter) {
    pto_status_t status = PTO_OK;
    bool more = open_bracket(reader->source, ']');
    while (status == PTO_OK && more) {
        json_t *value = NULL;
        if (!may_matter || !skip_object(reader, may_matter))
            status = read_value(reader, &value);
        if (status == PTO_OK && value && element)
            status = element(reader, value);
        json_decref(value);
        if (status == PTO_OK)
            status = next_member(reader, ']', &more);
    }
    return status;
}

/* Reads a key and the colon after it. */
static pto_status_t read_key(pto_recording_reader_t *reader, json_t **key) {
    *key = NULL;
    if (next_byte(reader->source) != '"')
        return fail_here(reader, "a key");
    pto_status_t status = read_value(reader, key);
    if (status == PTO_OK && next_byte(reader->source) != ':')
        status = fail_here(reader, "':'");
    if (status == PTO_OK)
        pto_source_skip(reader->source, 1);
    return status;
}

/* Reads the value of an object's member. */
typedef pto_status_t member_t(pto_recording_reader_t *reader, const char *key, void *context);

static pto_status_t read_object(pto_recording_reader_t *reader, member_t *member, void *context) {
    pto_status_t status = PTO_OK;
    bool more = open_bracket(reader->source, '}');
    while (status == PTO_OK && more) {
        json_t *key;
        status = read_key(reader, &key);
        if (status == PTO_OK)
            status = member(reader, json_string_value(key), context);
        json_decref(key);
        if (status == PTO_OK)
            status = next_member(reader, '}', &more);
    }
    return status;
}

static pto_status_t skip_value(pto_recording_reader_t *reader, const char *key, void *context) {
    json_t *value = NULL;
    (void)key;
    (void)context;
    pto_status_t status = read_value(reader, &value);
    json_decref(value);
    return status;
}

/* Arrays of events, by their key. */
static const struct {
    const char *key;
    pto_recording_format_t format;
    element_t *element;
    may_matter_t *may_matter; /* NULL if all events do */
} arrays[] = {
    {"traceEvents", PTO_RECORDING_KINETO, pto_kineto_event, pto_kineto_may_matter},
    {"workload_graph", PTO_RECORDING_CHAKRA_JSON, pto_chakra_graph_node, NULL},
    {"nodes", PTO_RECORDING_PYTORCH_ET, pto_pytorch_node, NULL},
};

/* Reads one of the GPUs that a process sees, from Kineto's list. */
static pto_status_t read_device(pto_recording_reader_t *reader, const json_t *device) {
    const char *name = json_string_value(json_object_get(device, "name"));
    if (name)
        pto_recording_note_gpu(reader, name);
    return PTO_OK;
}

/* Members of a document that are stored until it ends, for read_record. */
static const char *const stored_members[] = {
    "header",         "metadata",        "coll_perf", "p2p_perf", "id",   "name",   "type",   "attr",
    "durationMicros", "distributedInfo", "version",   "ngpus",    "args", "config", "results"};

/* Reads a member with the number of processes, and perhaps the rank of the one that wrote the file: Kineto's
 * "distributedInfo", or "ngpus" of nccl-tests. Other members are ignored. */
static pto_status_t read_job(pto_recording_reader_t *reader, const char *key, const json_t *value) {
    const bool is_kineto = strcmp(key, "distributedInfo") == 0;
    if (!is_kineto && strcmp(key, "ngpus") != 0)
        return PTO_OK;
    const json_t *procs = is_kineto ? json_object_get(value, "world_size") : value;
    double count = json_number_value(procs), rank = json_number_value(json_object_get(value, "rank"));
    if (is_kineto && reader->known && !reader->has_job && reader->trace->rank < 0)
        reader->job->came_late = true;
    reader->has_job = reader->has_job || is_kineto;
    if (count > (double)reader->job_procs && count < PROCS_MAX)
        reader->job_procs = reader->job->procs = (int64_t)count;
    if (!json_object_get(value, "rank") || !(rank >= 0 && rank < PROCS_MAX))
        return PTO_OK;
    if (reader->trace->rank >= 0 && reader->trace->rank != (int64_t)rank)
        return pto_recording_fail(reader, PTO_ERR_NOT_APPLICABLE,
                                  "the file has the calls of process %lld, not %lld", (long long)rank,
                                  (long long)reader->trace->rank);
    reader->trace->rank = (int64_t)rank;
    reader->job->rank = (int64_t)rank;
    return PTO_OK;
}

/* Reads a member of a document: reads arrays of events, stores stored_members in the object `context`, skips
 * the others. */
static pto_status_t read_member(pto_recording_reader_t *reader, const char *key, void *context) {
    json_t *record = context, *value = NULL;
    int first = next_byte(reader->source);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays && first == '['; i++)
        if (strcmp(key, arrays[i].key) == 0) {
            set_place(reader);
            pto_status_t status = pto_recording_found(reader, arrays[i].format);
            return status == PTO_OK ? read_array(reader, arrays[i].element, arrays[i].may_matter) : status;
        }
    if (first == '[' && strcmp(key, "deviceProperties") == 0)
        return read_array(reader, read_device, NULL);
    for (size_t i = 0; i < sizeof stored_members / sizeof *stored_members; i++)
        if (strcmp(key, stored_members[i]) == 0) {
            pto_status_t status = read_value(reader, &value);
            if (status == PTO_OK)
                status = read_job(reader, key, value);
            if (value && json_object_set_new(record, key, value) != 0 && status == PTO_OK)
                status = pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory");
            return status;
        }
    if (first == '[')
        return read_array(reader, NULL, NULL);
    return first == '{' ? read_object(reader, skip_value, NULL) : skip_value(reader, key, NULL);
}

/* Reads the stored members of a document. */
static pto_status_t read_record(pto_recording_reader_t *reader, const json_t *record) {
    if (json_object_get(record, "results") && json_object_get(record, "config"))
        return pto_nccl_tests_record(reader, record);
    if (json_object_get(record, "coll_perf") || json_object_get(record, "p2p_perf"))
        return pto_inspector_record(reader, record);
    return !reader->known || reader->trace->format == PTO_RECORDING_CHAKRA_JSON
               ? pto_chakra_record(reader, record)
               : PTO_OK;
}

static pto_status_t read_document(pto_recording_reader_t *reader) {
    json_t *record = json_object();
    reader->source->items++;
    if (!record)
        return pto_recording_fail(reader, PTO_ERR_MEMORY, "out of memory");
    set_place(reader);
    const int line = reader->line, column = reader->column;
    pto_status_t status = read_object(reader, read_member, record);
    if (status == PTO_OK) {
        reader->line = line;
        reader->column = column;
        status = read_record(reader, record);
    }
    json_decref(record);
    return status;
}

/* Returns whether an array has documents, and not Kineto's events: a document's member comes before the first
 * "ph" (phase), which all these events have. */
static bool has_documents(pto_source_t *source) {
    static const char *const members[] = {"\"traceEvents\"", "\"results\"", "\"coll_perf\"", "\"p2p_perf\"",
                                          "\"workload_graph\""};
    pto_source_extend(source);
    char *text = (char *)source->buffer + source->at;
    text[source->end - source->at] = '\0';
    const char *phase = strstr(text, "\"ph\"");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *found = strstr(text, members[i]);
        if (found && (!phase || found < phase))
            return true;
    }
    return false;
}

static pto_status_t read_documents(pto_recording_reader_t *reader) {
    pto_status_t status = PTO_OK;
    for (bool more = open_bracket(reader->source, ']'); status == PTO_OK && more;) {
        status = next_byte(reader->source) == '{' ? read_document(reader) : fail_here(reader, "an object");
        if (status == PTO_OK)
            status = next_member(reader, ']', &more);
    }
    return status;
}

/* A file has documents, one after another or in an array, or an array of Kineto's events. */
pto_status_t pto_recording_read_json(pto_recording_reader_t *reader) {
    pto_source_t *source = reader->source;
    pto_status_t status = PTO_OK;
    for (int first; status == PTO_OK && (first = next_byte(source)) >= 0;) {
        if (first == '{')
            status = read_document(reader);
        else if (first == '[' && has_documents(source))
            status = read_documents(reader);
        else if (first == '[' && !reader->known) {
            set_place(reader);
            status = pto_recording_found(reader, PTO_RECORDING_KINETO);
            if (status == PTO_OK)
                status = read_array(reader, pto_kineto_event, pto_kineto_may_matter);
        } else
            status = fail_here(reader, "a JSON object");
    }
    return status;
}
