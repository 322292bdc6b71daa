/* Any bytes as a topology in XML: read whole or refused with a reason. */
#include "fuzz_file.h"
#include "traces/topology_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pto_topology_t *topology = NULL;
    pto_error_t err = {.status = PTO_OK};
    pto_status_t status = pto_topology_read_xml(fuzz_file(data, size), &topology, &err);
    if (status == PTO_OK)
        pto_topology_destroy(topology);
    else if (err.status != status || !*err.message)
        abort();
    return 0;
}
