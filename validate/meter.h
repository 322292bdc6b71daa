/* Energy counters of this host: one table of functions per source, so that a test can bring its own. Nothing
 * here knows MPI; energy.h reads them for a whole job. */
#ifndef PTO_METER_H
#define PTO_METER_H

#include "portolan/api.h"

enum { METER_ID_MAX = 128 };

/* The readings that one process takes. */
typedef struct {
    int gpu;              /* its number on the node, modulo those there are; -1: the process has none */
    const char *powercap; /* where the kernel shows RAPL */
} meter_place_t;

typedef struct {
    const char *name;
    const char *what; /* the component that it measures, for messages */
    /* Errors: PTO_ERR_NOT_APPLICABLE with the reason why nothing can be read, PTO_ERR_MEMORY. */
    pto_status_t (*open)(const meter_place_t *place, void **meter, pto_error_t *err);
    /* Joules since some moment before `open`. */
    pto_status_t (*read)(void *meter, double *joules, pto_error_t *err);
    /* Which counter this is: equal wherever the same one is read, and in the world for no other. */
    const char *(*id)(const void *meter);
    void (*close)(void *meter);
} meter_source_t;

/* GPUs, by NVML: one GPU for each meter. */
extern const meter_source_t meter_nvml;
/* CPU packages and their memory, by RAPL: all of the host for each meter. */
extern const meter_source_t meter_rapl;

/* This boot of this kernel, which containers and network namespaces share; `id` has METER_ID_MAX bytes. */
void meter_host_id(const char *suffix, char *id);

/* --- NVML ----------------------------------------------------------------------------------------------- */

/* The functions of NVML that meter_nvml calls; all but `text` return 0 where they succeed. */
typedef struct {
    int (*cuda_init)(unsigned flags);
    int (*cuda_count)(int *count);
    int (*cuda_get)(int *device, int gpu);
    int (*cuda_bus)(char *bus, int bus_size, int device);
    int (*init)(void);
    int (*by_bus)(const char *bus, void **device);
    int (*energy)(void *device, unsigned long long *millijoules);
    const char *(*text)(int result);
} meter_nvml_calls_t;

/* Open a meter with the calls of the installed driver, as `meter_nvml.open` does. `calls` must outlive the
 * meter. */
pto_status_t meter_nvml_open(const meter_nvml_calls_t *calls, const meter_place_t *place, void **meter,
                             pto_error_t *err);

#endif
