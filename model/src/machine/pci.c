/* Which PCI devices are GPUs and NICs, for reading a node's topology from hwloc or sysfs (pci.h). */
#include "machine/pci.h"

#include <stddef.h>

enum {
    VENDOR_NVIDIA = 0x10de,
    VENDOR_AMD = 0x1002,
    CLASS_VGA = 0x0300,
    CLASS_3D = 0x0302,
    CLASS_DISPLAY = 0x0380,
    CLASS_ACCELERATOR = 0x1200, /* MI200 and later */
    CLASS_INFINIBAND = 0x0207,
    CLASS_FABRIC = 0x0208,
    CLASS_NETWORK = 0x02
};

bool pto_pci_is_gpu(const pto_pci_t *pci) {
    bool draws = pci->class_id == CLASS_VGA || pci->class_id == CLASS_3D || pci->class_id == CLASS_DISPLAY;
    if (pci->vendor_id == VENDOR_AMD)
        return draws || pci->class_id == CLASS_ACCELERATOR;
    return draws && pci->vendor_id == VENDOR_NVIDIA;
}

bool pto_pci_is_network(const pto_pci_t *pci) { return pci->class_id >> 8 == CLASS_NETWORK; }

bool pto_pci_is_nic(const pto_pci_t *pci) {
    static const struct {
        unsigned vendor, device;
        unsigned mask; /* matches if (device_id & mask) == device; mask 0: all devices of the vendor */
        bool has_slow; /* the vendor also makes management Ethernet, on links of less than 4 GB/s; a link of
                          unknown rate counts as fast */
    } nics[] = {
        {0x15b3, 0, 0, false},           /* Mellanox */
        {0x17db, 0, 0, false},           /* Cray, now HPE: Slingshot */
        {0x1d0f, 0xefa0, 0xfff0, false}, /* Amazon: EFA, not ENA */
        {0x14e4, 0, 0, true},            /* Broadcom */
        {0x1dd8, 0, 0, true},            /* AMD Pensando: Pollara (Ultra Ethernet) */
        {0x1425, 0, 0, true},            /* Chelsio */
        {0x434e, 0, 0, false},           /* Cornelis: Omni-Path */
        {0x8086, 0x1590, 0xfff0, true},  /* Intel: E810 (irdma) */
        {0x8086, 0x12d0, 0xfff0, true},  /* Intel: E830 */
        {0x8086, 0x1889, 0xffff, true},  /* Intel: virtual functions of both */
        {0x8086, 0x1452, 0xffff, true},  /* Intel: IPU E2000 (idpf) */
        {0x8086, 0x145c, 0xffff, true},  /* Intel: its virtual functions */
        {0x1ae0, 0x0042, 0xffff, true},  /* Google: gVNIC */
        {0x1414, 0x00ba, 0xffff, true},  /* Microsoft: MANA */
        {0x1ded, 0x107f, 0xffff, false}, /* Alibaba: eRDMA */
        {0x1ded, 0x5007, 0xffff, false}, /* the same */
        {0x19e5, 0x0200, 0xffc0, true},  /* Huawei: Hi1822 */
        {0x19e5, 0x1822, 0xffff, true},  /* the same */
        {0x19e5, 0xa222, 0xffff, true},  /* HiSilicon: HNS with RDMA, not those without */
        {0x19e5, 0xa224, 0xfffd, true},  /* the same */
        {0x19e5, 0xa228, 0xffff, true},  /* the same */
        {0x19e5, 0xa22f, 0xffff, true},  /* its virtual functions */
        {0x1077, 0x1600, 0xff00, true},  /* Marvell: FastLinQ 45000 */
        {0x1077, 0x8000, 0xff00, true},  /* Marvell: FastLinQ 41000 */
        {0x1137, 0x0043, 0xffff, true},  /* Cisco: VIC (usNIC) */
        {0x119f, 0x1000, 0xf000, false}, /* Bull: BXI */
    };
    if (pci->class_id == CLASS_INFINIBAND || pci->class_id == CLASS_FABRIC)
        return true;
    for (size_t i = 0; i < sizeof nics / sizeof *nics; i++)
        if (pto_pci_is_network(pci) && pci->vendor_id == nics[i].vendor &&
            (pci->device_id & nics[i].mask) == nics[i].device &&
            !(nics[i].has_slow && pci->gb_per_s > 0 && pci->gb_per_s < 4))
            return true;
    return false;
}
