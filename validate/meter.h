/* Energy counters of this host: a table of functions for each source, NVML and RAPL, so that tests can
 * substitute their own. Nothing here uses MPI; energy.h reads the counters of a whole job. */
#ifndef PTO_METER_H
#define PTO_METER_H

#include "portolan/api.h"

enum { METER_ID_MAX = 128 };

/* Which counters a process reads. */
typedef struct {
    int gpu;              /* index on the node, modulo the number of GPUs; -1: none */
    const char *powercap; /* the folder in which Linux shows RAPL's counters */
} meter_place_t;

typedef struct {
    const char *name;
    const char *what; /* the components that it measures, for messages */
    /* Errors: PTO_ERR_NOT_APPLICABLE with the reason why nothing can be read, PTO_ERR_MEMORY. */
    pto_status_t (*open)(const meter_place_t *place, void **meter, pto_error_t *err);
    /* Joules since some fixed time before `open`. */
    pto_status_t (*read)(void *meter, double *joules, pto_error_t *err);
    /* A globally unique identifier of the counter, the same in all processes that open it. */
    const char *(*id)(const void *meter);
    void (*close)(void *meter);
} meter_source_t;

/* GPUs, by NVML. A meter reads one GPU. */
extern const meter_source_t meter_nvml;
/* CPU packages and their memory, by RAPL. A meter reads all of the host. */
extern const meter_source_t meter_rapl;

/* Writes an identifier of the host, "BOOT-ID/suffix", to `id`, which has METER_ID_MAX bytes. Unlike a host
 * name, the boot id is the same in all containers and network namespaces. */
void meter_host_id(const char *suffix, char *id);

/* The functions of CUDA's driver and of NVML that meter_nvml calls. All but `text` return 0 if they succeed.
 */
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

/* meter_nvml.open with other functions than the driver's, for tests. They must outlive the meter. */
pto_status_t meter_nvml_open(const meter_nvml_calls_t *calls, const meter_place_t *place, void **meter,
                             pto_error_t *err);

#endif
