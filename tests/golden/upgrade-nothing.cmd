# Nothing takes no time, of which an upgrade saves nothing.
portolan upgrade --machine summit-spectrum-refit --collective alltoall --nodes 2 --bytes 0 | grep '^twice\|^PCIe'
