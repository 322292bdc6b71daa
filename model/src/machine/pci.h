/* Kinds of PCI devices, by the numbers of the PCI ID Repository. */
#ifndef PTO_MACHINE_PCI_H
#define PTO_MACHINE_PCI_H

#include <stdbool.h>

typedef struct {
    unsigned class_id; /* without the interface: 0x0302 */
    unsigned vendor_id, device_id;
    double gb_per_s; /* of its link; 0: not known */
} pto_pci_t;

/* GPUs of NVIDIA and AMD. */
bool pto_pci_is_gpu(const pto_pci_t *pci);

/* Network devices that connect the nodes of clusters: InfiniBand and fabrics (Omni-Path) by class, Ethernet
 * by vendor, since other vendors' devices are mostly for management. */
bool pto_pci_is_nic(const pto_pci_t *pci);

bool pto_pci_is_network(const pto_pci_t *pci);

#endif
