/* The energy counters of NVIDIA's GPUs, by NVML. NVML and CUDA's driver are opened at run time, as a machine
 * may have neither; the signatures of the functions used have never changed. CUDA's driver identifies the
 * GPU, since CUDA_VISIBLE_DEVICES changes the numbering in CUDA, but not in NVML. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "meter.h"

enum { BUS_MAX = 32 };

typedef struct {
    const meter_nvml_calls_t *calls;
    void *device;
    char id[METER_ID_MAX];
} nvml_meter_t;

static bool load_symbol(void *library, const char *name, void *function) {
    *(void **)function = library ? dlsym(library, name) : NULL;
    return *(void **)function != NULL;
}

/* Loads the functions, once for all meters. NULL: the libraries are not installed, or too old. */
static const meter_nvml_calls_t *load(void) {
    static meter_nvml_calls_t calls;
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    const struct {
        void *library;
        const char *name;
        void *function;
    } wanted[] = {
        {cuda, "cuInit", &calls.cuda_init},
        {cuda, "cuDeviceGetCount", &calls.cuda_count},
        {cuda, "cuDeviceGet", &calls.cuda_get},
        {cuda, "cuDeviceGetPCIBusId", &calls.cuda_bus},
        {nvml, "nvmlInit_v2", &calls.init},
        {nvml, "nvmlDeviceGetHandleByPciBusId_v2", &calls.by_bus},
        {nvml, "nvmlDeviceGetTotalEnergyConsumption", &calls.energy},
        {nvml, "nvmlErrorString", &calls.text},
    };
    bool found = true;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        found = load_symbol(wanted[i].library, wanted[i].name, wanted[i].function) && found;
    return found ? &calls : NULL;
}

static pto_status_t find_device(const meter_nvml_calls_t *calls, int gpu, nvml_meter_t *meter,
                                pto_error_t *err) {
    char bus[BUS_MAX] = "";
    int count = 0, device = 0;
    unsigned long long millijoules = 0;
    if (calls->cuda_init(0) != 0 || calls->cuda_count(&count) != 0 || count < 1 ||
        calls->cuda_get(&device, gpu % count) != 0 || calls->cuda_bus(bus, sizeof bus, device) != 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "the CUDA driver shows no GPU");
    int result = calls->init();
    if (result == 0)
        result = calls->by_bus(bus, &meter->device);
    if (result == 0)
        result = calls->energy(meter->device, &millijoules);
    if (result != 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "GPU %s: NVML: %s", bus, calls->text(result));
    meter_host_id(bus, meter->id);
    return PTO_OK;
}

pto_status_t meter_nvml_open(const meter_nvml_calls_t *calls, const meter_place_t *place, void **meter,
                             pto_error_t *err) {
    if (place->gpu < 0)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE, "the device is host memory, not a GPU");
    if (!calls)
        return pto_error_set(err, PTO_ERR_NOT_APPLICABLE,
                             "NVIDIA's driver and NVML (libcuda.so.1, libnvidia-ml.so.1) are not there");
    nvml_meter_t *made = calloc(1, sizeof *made);
    if (!made)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for an energy counter");
    made->calls = calls;
    pto_status_t status = find_device(calls, place->gpu, made, err);
    if (status != PTO_OK) {
        free(made);
        return status;
    }
    *meter = made;
    return PTO_OK;
}

static pto_status_t nvml_open(const meter_place_t *place, void **meter, pto_error_t *err) {
    return meter_nvml_open(place->gpu < 0 ? NULL : load(), place, meter, err);
}

static pto_status_t nvml_read(void *meter, double *joules, pto_error_t *err) {
    const nvml_meter_t *nvml = meter;
    unsigned long long millijoules = 0;
    int result = nvml->calls->energy(nvml->device, &millijoules);
    if (result != 0)
        return pto_error_set(err, PTO_ERR_IO, "GPU %s: NVML: %s", nvml->id, nvml->calls->text(result));
    *joules = (double)millijoules * 1e-3;
    return PTO_OK;
}

static const char *nvml_id(const void *meter) { return ((const nvml_meter_t *)meter)->id; }

const meter_source_t meter_nvml = {
    .name = "nvml", .what = "GPUs", .open = nvml_open, .read = nvml_read, .id = nvml_id, .close = free};
