/* NCCL's interface for tuner plugins: versions 4 (NCCL 2.25 to 2.27), 5 (2.28, 2.29) and 6 (2.30), as far as
 * this plugin uses them. It is declared here after the published ABI (NCCL's plugins/tuner and
 * src/plugin/tuner), so that the plugin can be built without NCCL. */
#ifndef PTO_NCCL_TUNER_H
#define PTO_NCCL_TUNER_H

#include <stddef.h>
#include <stdint.h>

enum { NCCL_SUCCESS = 0 };
enum { NCCL_ALGORITHMS = 7, NCCL_PROTOCOLS = 3, NCCL_FUNCTIONS = 5 };
enum { NCCL_LOG_WARN = 2, NCCL_LOG_INFO = 3 };
enum { NCCL_SUBSYSTEM_TUNING = 0x40 };

/* ncclDebugLogger_t. NCCL_DEBUG and NCCL_DEBUG_SUBSYS select what NCCL prints besides warnings. */
typedef void nccl_logger_t(int level, unsigned long subsystems, const char *file, int line,
                           const char *format, ...);

/* `costs` is declared as float **, but NCCL passes a flat table of float: the cost in microseconds of
 * algorithm a with protocol p is at a * protocols + p; -1: NCCL cannot run it. NCCL takes the lowest of the
 * others. `channels` is 0, which leaves their number to NCCL. An error fails the application's call. */
typedef int nccl_get_coll_info_t(void *context, int function, size_t bytes, int pipe_operations,
                                 float **costs, int algorithms, int protocols, int registered, int *channels);

typedef struct {
    const char *name;
    int (*init)(size_t ranks, size_t nodes, nccl_logger_t *log, void **context);
    nccl_get_coll_info_t *get_coll_info;
    int (*destroy)(void *context);
} nccl_tuner_v4_t;

/* The plugin does not use the NVLink domain and the constants of NCCL's own cost model. */
typedef int nccl_init_v5_t(void **context, uint64_t communicator, size_t ranks, size_t nodes,
                           nccl_logger_t *log, void *nvlink_domain, void *constants);

typedef struct {
    const char *name;
    nccl_init_v5_t *init;
    nccl_get_coll_info_t *get_coll_info;
    int (*finalize)(void *context);
} nccl_tuner_v5_t;

typedef struct {
    const char *name;
    nccl_init_v5_t *init;
    nccl_get_coll_info_t *get_coll_info;
    int (*finalize)(void *context);
    /* May be NULL, which leaves the chunk size to NCCL. */
    int (*get_chunk_size)(void *context, int function, size_t bytes, int algorithm, int protocol,
                          int channels, size_t *chunk_bytes);
} nccl_tuner_v6_t;

/* Four and five pointers, without padding. */
_Static_assert(sizeof(nccl_tuner_v4_t) == 4 * sizeof(void *), "v4");
_Static_assert(sizeof(nccl_tuner_v5_t) == 4 * sizeof(void *), "v5");
_Static_assert(sizeof(nccl_tuner_v6_t) == 5 * sizeof(void *), "v6");
_Static_assert(offsetof(nccl_tuner_v4_t, get_coll_info) == 2 * sizeof(void *), "v4");
_Static_assert(offsetof(nccl_tuner_v5_t, get_coll_info) == 2 * sizeof(void *), "v5");
_Static_assert(offsetof(nccl_tuner_v6_t, get_chunk_size) == 4 * sizeof(void *), "v6");

#endif
