/* Machine files that inherit from others: the YAML trees of the files are merged before the machine is read,
 * so every key works as if it were in one file, and each node keeps its file and line. */
#include "machine/inherit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text_file.h"

enum { FILE_BYTES_MAX = 4 << 20 };

static pto_machine_find_t find_by_name;

void pto_machine_find_by(pto_machine_find_t find) { find_by_name = find; }

void pto_machine_files_fini(pto_machine_files_t *files) {
    for (int i = 0; i < files->count; i++)
        free(files->path[i]);
    *files = (pto_machine_files_t){0};
}

static bool is_key(const pto_yaml_node_t *node, const char *key) { return strcmp(node->key, key) == 0; }

static bool is_among(const char *key, const char *const *name) {
    while (*name && strcmp(*name, key) != 0)
        name++;
    return *name != NULL;
}

/* Removes and returns the first child for which fits(child, given) holds; NULL if there is none. The caller
 * owns it. */
static pto_yaml_node_t *take(pto_yaml_node_t *parent,
                             bool (*fits)(const pto_yaml_node_t *node, const void *given),
                             const void *given) {
    for (pto_yaml_node_t **place = &parent->child; *place; place = &(*place)->next) {
        pto_yaml_node_t *node = *place;
        if (!fits(node, given))
            continue;
        *place = node->next;
        node->next = NULL;
        parent->child_count--;
        return node;
    }
    return NULL;
}

/* Destroys all children that fit. `parent` may be NULL. */
static void drop(pto_yaml_node_t *parent, bool (*fits)(const pto_yaml_node_t *node, const void *given),
                 const void *given) {
    for (pto_yaml_node_t *node; parent && (node = take(parent, fits, given));)
        pto_yaml_destroy(node);
}

static bool has_key(const pto_yaml_node_t *node, const void *key) { return is_key(node, key); }
static bool has_key_among(const pto_yaml_node_t *node, const void *name) { return is_among(node->key, name); }
static bool has_key_not_among(const pto_yaml_node_t *node, const void *name) {
    return !is_among(node->key, name);
}

static pto_yaml_node_t *child_of(pto_yaml_node_t *mapping, const char *key) {
    return (pto_yaml_node_t *)pto_yaml_find(mapping, key);
}

/* A mapping whose children have all been dropped is dropped, too. */
static bool is_empty(const pto_yaml_node_t *node, const void *given) {
    (void)given;
    return node->kind != PTO_YAML_SCALAR && node->child_count == 0;
}

static void number_nodes(pto_yaml_node_t *node, int file) {
    for (; node; node = node->next) {
        node->file = file;
        number_nodes(node->child, file);
    }
}

/* Returns whether a key describes the accuracy of an inherited number that `own` replaces. */
static bool is_about_replaced(const pto_yaml_node_t *own, const char *key) {
    static const char *const about[] = {"samples", "residual", "flagged", NULL};
    static const char *const number[] = {"alpha_s", "beta_s_per_byte", "s_per_byte", NULL};
    size_t length = strlen(key);
    for (const pto_yaml_node_t *node = own->child; node; node = node->next) {
        bool interval = length == strlen(node->key) + 3 && strcmp(key + length - 3, "_95") == 0 &&
                        strncmp(key, node->key, length - 3) == 0;
        if (interval || (is_among(key, about) && is_among(node->key, number)))
            return true;
    }
    return false;
}

/* Moves the nodes that `own` lacks from `other` to its end, mapping by mapping. The rest of `other` is
 * destroyed: values of `own` take precedence. */
static void merge(pto_yaml_node_t *own, pto_yaml_node_t *other) {
    pto_yaml_node_t *added = NULL, **end = &added;
    int count = 0;
    while (other->child) {
        pto_yaml_node_t *node = other->child, *same = child_of(own, node->key);
        other->child = node->next;
        node->next = NULL;
        if (!same && !is_about_replaced(own, node->key)) {
            *end = node;
            end = &node->next;
            count++;
            continue;
        }
        if (same && same->kind == PTO_YAML_MAPPING && node->kind == PTO_YAML_MAPPING)
            merge(same, node);
        pto_yaml_destroy(node);
    }
    other->child_count = 0;
    pto_yaml_node_t **last = &own->child;
    while (*last)
        last = &(*last)->next;
    *last = added;
    own->child_count += count;
}

/* Keeps what concerns a single node. NCCL's times depend on the links between nodes, too, and are dropped. */
static void keep_node(pto_yaml_node_t *root) {
    static const char *const whole[] = {"node",   "mps",    "runs",     "messages", "gap",    "copies",
                                        "reduce", "peer",   "remote",   "signals",  "launch", "memory",
                                        "setup",  "energy", "topology", NULL};
    static const char *const between[] = {"cpu", "gpu", NULL};
    pto_yaml_node_t *messages = child_of(root, "messages");
    drop(root, has_key_not_among, whole);
    for (int i = 0; messages && between[i]; i++)
        drop(child_of(messages, between[i]), has_key, "off_node");
    drop(child_of(root, "gap"), has_key_among, between);
    drop(messages, is_empty, NULL);
    drop(root, is_empty, NULL);
}

/* Keeps what concerns the network between nodes. */
static void keep_network(pto_yaml_node_t *root) {
    static const char *const whole[] = {"messages", "gap", "injection", "network", "fabric", NULL};
    static const char *const spaces[] = {"cpu", "gpu", NULL};
    static const char *const off_node[] = {"off_node", NULL};
    pto_yaml_node_t *messages = child_of(root, "messages");
    drop(root, has_key_not_among, whole);
    drop(messages, has_key_not_among, spaces);
    for (int i = 0; messages && spaces[i]; i++)
        drop(child_of(messages, spaces[i]), has_key_not_among, off_node);
    drop(child_of(root, "gap"), has_key, "within");
    drop(messages, is_empty, NULL);
    drop(root, is_empty, NULL);
}

/* Keeps all but the name and what was derived from measurements of the whole machine. */
static void keep_parameters(pto_yaml_node_t *root) {
    static const char *const own[] = {"machine", "fitted_to", "model_error", "tuning", NULL};
    drop(root, has_key_among, own);
}

/* A file that is being read, linked to the file that names it, up to the machine file. Finds cycles. */
typedef struct chain {
    const struct chain *before; /* the file that names this one; NULL: this is the machine file */
    const char *path;
    int depth; /* 0: the machine file */
} chain_t;

static bool is_same_file(const char *a, const char *b) {
    struct stat of_a, of_b;
    if (strcmp(a, b) == 0)
        return true;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

/* Returns whether a path is a file of the chain. */
static bool is_above(const chain_t *chain, const char *path) {
    while (chain && !is_same_file(chain->path, path))
        chain = chain->before;
    return chain != NULL;
}

/* Finds a file by the program's own search or, without one, relative to the file that names it. */
static pto_status_t find(const pto_reader_t *reader, const pto_yaml_node_t *node, char **path) {
    pto_error_t fault = {.status = PTO_OK};
    pto_status_t status = pto_read_expect(reader, node, PTO_YAML_SCALAR, "the name or file of a machine");
    if (status != PTO_OK)
        return status;
    if (find_by_name) {
        status = find_by_name(node->text, reader->path, path, &fault);
        return status == PTO_OK ? PTO_OK : pto_read_fail_as(reader, node, &fault);
    }
    *path = pto_path_beside(reader->path, node->text);
    return *path ? PTO_OK : pto_read_fail(reader, node, PTO_ERR_MEMORY, "out of memory");
}

static pto_status_t inherit(pto_machine_files_t *files, pto_yaml_node_t *root, const chain_t *chain,
                            pto_error_t *err);

/* Parses the last of `files` into `*root`, with what it inherits. `named` is the YAML node of the reader's
 * file that names it. */
static pto_status_t load(pto_machine_files_t *files, const chain_t *chain, const pto_reader_t *reader,
                         const pto_yaml_node_t *named, pto_yaml_node_t **root) {
    const int number = files->count - 1;
    const char *path = files->path[number];
    char *text = NULL;
    size_t size = 0;
    pto_error_t fault = {.status = PTO_OK};
    if (is_above(chain, path))
        return pto_read_fail(reader, named, PTO_ERR_RANGE, "%s: '%s' leads back to itself", named->key,
                             named->text);
    if (chain->depth >= PTO_INHERIT_DEPTH_MAX)
        return pto_read_fail(reader, named, PTO_ERR_TOO_LARGE, "%s: more than %d files that name each other",
                             named->key, PTO_INHERIT_DEPTH_MAX);
    pto_status_t status = pto_text_read(path, FILE_BYTES_MAX, &text, &size, &fault);
    if (status != PTO_OK)
        return pto_read_fail(reader, named, status, "%s: %s: %s", named->key, path, fault.message);
    status = pto_yaml_parse(text, size, path, root, reader->err);
    free(text);
    if (status != PTO_OK)
        return status;
    number_nodes(*root, number);
    const pto_reader_t own = {.path = path, .err = reader->err};
    const chain_t here = {.before = chain, .path = path, .depth = chain->depth + 1};
    status = pto_read_expect(&own, *root, PTO_YAML_MAPPING, "a machine file");
    return status == PTO_OK ? inherit(files, *root, &here, reader->err) : status;
}

/* Merges into `root` the part, selected by `keep`, of the file that `named` names. */
static pto_status_t add(pto_machine_files_t *files, pto_yaml_node_t *root, const chain_t *chain,
                        const pto_yaml_node_t *named, void (*keep)(pto_yaml_node_t *root), pto_error_t *err) {
    const pto_reader_t reader = {.path = chain->path, .err = err};
    pto_yaml_node_t *other = NULL;
    if (files->count == PTO_INHERIT_FILES_MAX)
        return pto_read_fail(&reader, named, PTO_ERR_TOO_LARGE, "%s: a machine is made of more than %d files",
                             named->key, PTO_INHERIT_FILES_MAX);
    pto_status_t status = find(&reader, named, &files->path[files->count]);
    if (status != PTO_OK)
        return status;
    files->count++;
    status = load(files, chain, &reader, named, &other);
    if (status == PTO_OK && other) {
        keep(other);
        if (child_of(root, "mpi_library")) /* the tables are another library's */
            drop(other, has_key, "library");
        merge(root, other);
    }
    pto_yaml_destroy(other);
    return status;
}

static bool is_reference(const pto_yaml_node_t *node, const void *key) {
    return is_key(node, key) && (node->kind == PTO_YAML_SCALAR || is_key(node, "inherits"));
}

/* Merges the files that `root` names. `node` and `network` come before `inherits`, which supplies what is
 * still missing. */
static pto_status_t inherit(pto_machine_files_t *files, pto_yaml_node_t *root, const chain_t *chain,
                            pto_error_t *err) {
    static const struct {
        const char *key;
        void (*keep)(pto_yaml_node_t *root);
    } reference[] = {{"node", keep_node}, {"network", keep_network}, {"inherits", keep_parameters}};
    pto_yaml_node_t *named[3] = {NULL};
    pto_status_t status = PTO_OK;
    for (int i = 0; i < 3; i++)
        named[i] = take(root, is_reference, reference[i].key);
    for (int i = 0; i < 3 && status == PTO_OK; i++)
        if (named[i])
            status = add(files, root, chain, named[i], reference[i].keep, err);
    for (int i = 0; i < 3; i++)
        pto_yaml_destroy(named[i]);
    return status;
}

pto_status_t pto_machine_inherit(pto_machine_files_t *files, pto_yaml_node_t *root, pto_error_t *err) {
    const chain_t chain = {.path = files->path[0]};
    return root->kind == PTO_YAML_MAPPING ? inherit(files, root, &chain, err) : PTO_OK;
}
