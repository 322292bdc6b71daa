/* NVML as far as portolan-calibrate and portolan-validate ask it. For --topology, the four GPUs of
 * tests/fixtures/node.xml: two NVLinks between GPUs 0 and 1, six from GPU 2 and from GPU 3 to NVSwitches. It
 * places GPUs 1 and 3 nearer to each other than the PCI tree does. For the benchmarks, GPUs that are
 * emulated: 0 and 1 near CPU 0, 2 and 3 near CPU 1. GPU n has used n + 1 J when it is first asked, and half a
 * joule more each time that any is.
 *
 *   FAKE_NVML=FILE   other GPUs, without NVLinks: a line "ADDRESS LEVEL..." of each, with the levels of its
 *                    pairs with all; -1: NVML does not tell */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS = 4, EMULATED = 3 };

static char gpu[GPUS + EMULATED][16] = {"0000:03:00.0", "0000:04:00.0", "0000:81:00.0", "0000:82:00.0",
                                        "0000:00:00.0", "0000:01:00.0", "0000:02:00.0"};

enum { OTHERS_MAX = 64 };

static char other[OTHERS_MAX][16];
static int other_level[OTHERS_MAX][OTHERS_MAX], others;

int nvmlInit_v2(void) {
    char line[512];
    const char *path = getenv("FAKE_NVML");
    FILE *file = path != NULL ? fopen(path, "r") : NULL;
    for (; file != NULL && others < OTHERS_MAX && fgets(line, sizeof line, file) != NULL; others++) {
        char *at = strchr(line, ' ');
        snprintf(other[others], sizeof other[0], "%.12s", line);
        for (int i = 0; at != NULL && i < OTHERS_MAX; i++)
            other_level[others][i] = (int)strtol(at, &at, 10);
    }
    if (file != NULL)
        fclose(file);
    return 0;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    snprintf(version, length, "made up");
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) {
    for (int i = 0; i < others; i++)
        if (strcmp(bus, other[i]) == 0) {
            *device = other[i];
            return 0;
        }
    for (int i = 0; i < GPUS + EMULATED; i++)
        if (strcmp(bus, gpu[i]) == 0) {
            *device = gpu[i];
            return 0;
        }
    return 6; /* not found */
}

static long number_of(void *device) { return ((char *)device - gpu[0]) / (long)sizeof gpu[0]; }

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules) {
    static unsigned long long more;
    *millijoules = 1000 * (unsigned long long)(number_of(device) + 1) + more;
    more += 500;
    return 0;
}

const char *nvmlErrorString(int result) { return result == 6 ? "not found" : "made up"; }

/* Emulated GPU 3 has the address of the first of the others. */
int nvmlDeviceGetCpuAffinity(void *device, unsigned words, unsigned long *mask) {
    long number = number_of(device);
    bool far_away = number == 0 || number == GPUS + 2;
    memset(mask, 0, words * sizeof *mask);
    mask[0] = far_away ? 2 : 1;
    return 0;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active) {
    if (others > 0)
        return 2;
    *active = link < (number_of(device) < 2 ? 3 : 6) && !(number_of(device) < 2 && link == 1);
    return link < 6 ? 0 : 2; /* invalid argument */
}

int nvmlDeviceGetNvLinkVersion(void *device, unsigned link, unsigned *version) {
    *version = number_of(device) < 2 ? 2 : 6; /* 2.0, 4.0 */
    return 0;
}

/* nvmlPciInfo_t: the vendor is at byte 28, the address at byte 36. */
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, void *pci) {
    const unsigned nvswitch = 0x1ac210de;
    long number = number_of(device);
    memcpy((char *)pci + 28, &nvswitch, sizeof nvswitch);
    snprintf((char *)pci + 36, sizeof gpu[0], "%s", number < 2 ? gpu[1 - number] : "0000:c1:00.0");
    return 0;
}

int nvmlDeviceGetTopologyCommonAncestor(void *first, void *second, int *level) {
    if (others > 0) {
        *level = other_level[((char *)first - other[0]) / (long)sizeof other[0]]
                            [((char *)second - other[0]) / (long)sizeof other[0]];
        return *level < 0 ? 2 : 0;
    }
    long sum = number_of(first) + number_of(second), product = number_of(first) * number_of(second);
    *level = sum == 1 ? 10 : product == 6 ? 30 : product == 3 ? 30 : 50;
    return 0;
}
