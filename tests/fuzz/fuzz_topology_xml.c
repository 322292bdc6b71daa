/* Any bytes as a topology in XML, and as what tools print: read whole or refused with a reason. */
#include "fuzz_file.h"
#include "traces/topology_text.h"
#include "traces/topology_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file(data, size);
    for (int as_text = 0; as_text < 2; as_text++) {
        pto_topology_t *topology = NULL;
        pto_error_t err = {.status = PTO_OK};
        pto_status_t status = as_text ? pto_topology_read_text(path, (pto_link_rates_t){0}, &topology, &err)
                                      : pto_topology_read_xml(path, &topology, &err);
        if (status == PTO_OK)
            pto_topology_destroy(topology);
        else if (err.status != status || !*err.message)
            abort();
    }
    return 0;
}
