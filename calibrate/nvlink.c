/* Reads NVLinks through NVML (nvlink.h). Its header is not used, so that the build does not need it; the
 * functions used here have never changed. */
#include "nvlink.h"

#include <dlfcn.h>
#include <stddef.h>

enum { LINKS_MAX = 18, VENDOR_IBM = 0x1014 };

/* nvmlPciInfo_t */
typedef struct {
    char legacy_bus[16];
    unsigned domain;
    unsigned bus;
    unsigned device;
    unsigned device_and_vendor;
    unsigned subsystem;
    char address[32];
} pci_t;

typedef struct {
    int (*by_bus)(const char *bus, void **device);
    int (*link_state)(void *device, unsigned link, unsigned *active);
    int (*link_version)(void *device, unsigned link, unsigned *version);
    int (*remote)(void *device, unsigned link, pci_t *pci);
    int (*ancestor)(void *first, void *second, int *level);
} nvml_t;

static bool open_nvml(nvml_t *nvml) {
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL); /* stays open */
    int (*initialize)(void) = NULL;
    if (library == NULL)
        return false;
    *(void **)&initialize = dlsym(library, "nvmlInit_v2");
    *(void **)&nvml->by_bus = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&nvml->link_state = dlsym(library, "nvmlDeviceGetNvLinkState");
    *(void **)&nvml->link_version = dlsym(library, "nvmlDeviceGetNvLinkVersion");
    *(void **)&nvml->remote = dlsym(library, "nvmlDeviceGetNvLinkRemotePciInfo_v2");
    *(void **)&nvml->ancestor = dlsym(library, "nvmlDeviceGetTopologyCommonAncestor");
    return initialize != NULL && nvml->by_bus != NULL && nvml->link_state != NULL &&
           nvml->link_version != NULL && nvml->remote != NULL && nvml->ancestor != NULL && initialize() == 0;
}

/* Values of nvmlNvlinkVersion_t, which are not version numbers: NVLink 4.0 is 6. */
enum { NVLINK_1_0 = 1, NVLINK_5_0 = 7 };

/* GB/s of one link in each direction. */
static double link_gb_per_s(unsigned version) {
    return version <= NVLINK_1_0 ? 20 : version < NVLINK_5_0 ? 25 : 50;
}

/* Adds the rate of a link. A remote end that is none of the GPUs is an NVSwitch or, if from IBM, a CPU. */
static void add_link(int gpus, void *const *device, const nvml_t *nvml, int gpu, unsigned link,
                     nvlink_t *links) {
    unsigned version = 0;
    pci_t remote = {.legacy_bus = ""};
    if (nvml->link_version(device[gpu], link, &version) != 0 || nvml->remote(device[gpu], link, &remote) != 0)
        return;
    void *other = NULL;
    bool known = nvml->by_bus(remote.address, &other) == 0;
    double gb_per_s = link_gb_per_s(version);
    for (int i = 0; i < gpus && known; i++)
        if (device[i] == other) {
            links->between[gpu][i] += gb_per_s;
            return;
        }
    if ((remote.device_and_vendor & 0xffff) == VENDOR_IBM)
        links->to_cpu[gpu] += gb_per_s;
    else
        links->to_switch[gpu] += gb_per_s;
}

bool nvlink_read(int gpus, char (*bus)[16], nvlink_t *links, int ancestor[][NVLINK_GPUS_MAX]) {
    nvml_t nvml = {0};
    void *device[NVLINK_GPUS_MAX] = {NULL};
    if (!open_nvml(&nvml))
        return false;
    for (int i = 0; i < gpus; i++)
        if (nvml.by_bus(bus[i], &device[i]) != 0)
            return false;
    for (int i = 0; i < gpus; i++) {
        for (unsigned link = 0; link < LINKS_MAX; link++) {
            unsigned active = 0;
            if (nvml.link_state(device[i], link, &active) == 0 && active == 1)
                add_link(gpus, device, &nvml, i, link, links);
        }
        for (int j = 0; j < gpus; j++)
            if (i == j || nvml.ancestor(device[i], device[j], &ancestor[i][j]) != 0)
                ancestor[i][j] = -1;
    }
    return true;
}
