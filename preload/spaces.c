/* The memory space of a buffer: what the program has named, then what CUDA's driver says. */
#include "spaces.h"

#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/grow.h"
#include "driver.h"
#include "next.h"

/* Exported: count `bytes` of memory from `at` on as a GPU's; 0: no longer. */
void portolan_profile_memory(const void *at, size_t bytes);

typedef struct {
    uintptr_t first;
    uintptr_t until;
} range_t;

/* --- memory that the program names ---------------------------------------------------------------------- */

bool preload_spaces_differ;
static range_t *named;
static size_t named_count, named_capacity;

/* Another such library may be loaded behind this one. */
static void tell_next(const void *at, size_t bytes) {
    static void (*next)(const void *at, size_t bytes);
    if (!next)
        preload_next("portolan_profile_memory", &next, sizeof next);
    if (next)
        next(at, bytes);
}

PRELOAD_EXPORT void portolan_profile_memory(const void *at, size_t bytes) {
    uintptr_t first = (uintptr_t)at;
    size_t i = 0;
    tell_next(at, bytes);
    while (i < named_count && named[i].first != first)
        i++;
    if (i < named_count)
        named[i] = named[--named_count];
    if (bytes == 0)
        return;
    if (!PTO_RESERVE(named, named_capacity, named_count + 1))
        return;
    named[named_count++] = (range_t){first, first + bytes};
    preload_spaces_differ = true;
}

/* --- CUDA ----------------------------------------------------------------------------------------------- */

/* Of cuda.h, which need not be installed. */
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, TYPE_DEVICE = 2, TYPE_UNIFIED = 4 };

static int (*get_attributes)(unsigned count, const int *attribute, void **data, unsigned long long pointer);

/* The program's static memory and the heap behind it are the host's: the driver need not be asked, which
 * takes longer than all else. */
static uintptr_t program;

static int find_program(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size;
    (void)context;
    for (int i = info->dlpi_phnum - 1; i >= 0; i--)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            program = (uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1; /* the program is the first one */
}

static bool is_of_program(const void *memory) {
    return (uintptr_t)memory >= program && (uintptr_t)memory < (uintptr_t)sbrk(0);
}

bool preload_spaces_begin(void) {
    bool found = preload_find_in_driver("cuPointerGetAttributes", &get_attributes, sizeof get_attributes);
    preload_spaces_differ |= found;
    dl_iterate_phdr(find_program, NULL);
    return found;
}

/* Memory that CUDA does not know is the host's, and so is page-locked memory. Answers are not kept: once
 * freed, a GPU's addresses can become host memory. */
static preload_space_t ask_cuda(const void *memory) {
    static const int attributes[] = {MEMORY_TYPE, IS_MANAGED};
    unsigned type = 0, managed = 0;
    void *data[] = {&type, &managed};
    if (get_attributes(2, attributes, data, (unsigned long long)(uintptr_t)memory) != 0)
        return PRELOAD_CPU;
    if ((managed & 0xff) || type == TYPE_UNIFIED)
        return PRELOAD_MANAGED;
    return type >= TYPE_DEVICE ? PRELOAD_GPU : PRELOAD_CPU;
}

/* --- either --------------------------------------------------------------------------------------------- */

preload_space_t preload_space(const void *memory) {
    uintptr_t at = (uintptr_t)memory;
    for (size_t i = 0; i < named_count; i++)
        if (at >= named[i].first && at < named[i].until)
            return PRELOAD_GPU;
    return get_attributes && !is_of_program(memory) ? ask_cuda(memory) : PRELOAD_CPU;
}

preload_space_t preload_find_message_space(const void *memory, MPI_Datatype type) {
    MPI_Aint first = 0, extent = 0;
    if (memory != MPI_BOTTOM || type == MPI_DATATYPE_NULL)
        return preload_space(memory);
    PMPI_Type_get_true_extent(type, &first, &extent);
    return preload_space((const char *)memory + first);
}
