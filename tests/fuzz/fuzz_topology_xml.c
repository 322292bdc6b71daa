/* Any bytes as a topology in XML: read whole or refused with a reason. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "traces/topology_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static int file = -1;
    static char path[32];
    pto_topology_t *topology = NULL;
    pto_error_t err = {.status = PTO_OK};
    if (file < 0) {
        FILE *stream = tmpfile();
        file = stream ? fileno(stream) : -1;
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    pto_status_t status = pto_topology_read_xml(path, &topology, &err);
    if (status == PTO_OK)
        pto_topology_destroy(topology);
    else if (err.status != status || !*err.message)
        abort();
    return 0;
}
