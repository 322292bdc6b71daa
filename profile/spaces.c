/* Where a buffer lies. CUDA's driver is asked through its library, if the machine has one; a program that
 * stands in for a GPU says itself which of its memory counts as a GPU's (portolan_profile_memory). */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "profile.h"

/* Exported: take `bytes` of memory from `at` on for a GPU's; 0: no longer. */
void portolan_profile_memory(const void *at, size_t bytes);

typedef struct {
    uintptr_t first;
    uintptr_t until;
    prof_space_t space;
} range_t;

/* --- memory that the program names ---------------------------------------------------------------------- */

static range_t *named;
static size_t named_count, named_capacity;

__attribute__((visibility("default"))) void portolan_profile_memory(const void *at, size_t bytes) {
    uintptr_t first = (uintptr_t)at;
    size_t i = 0;
    while (i < named_count && named[i].first != first)
        i++;
    if (i < named_count)
        named[i] = named[--named_count];
    if (bytes == 0)
        return;
    if (named_count == named_capacity) {
        size_t capacity = named_capacity > 0 ? 2 * named_capacity : 16;
        range_t *larger = realloc(named, capacity * sizeof *larger);
        if (!larger)
            return;
        named = larger;
        named_capacity = capacity;
    }
    named[named_count++] = (range_t){first, first + bytes, PROF_GPU};
}

/* --- CUDA ----------------------------------------------------------------------------------------------- */

/* Of cuda.h, which need not be installed. */
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, TYPE_DEVICE = 2, TYPE_ARRAY = 3, TYPE_UNIFIED = 4 };
enum { KEPT = 8 };

static int (*get_attribute)(void *data, int attribute, unsigned long long pointer);
static int (*get_range)(unsigned long long *base, size_t *bytes, unsigned long long pointer);

/* Allocations on a GPU that were met last. An address range of a GPU is never given to host memory while CUDA
 * is in use, so that one that was freed can only be taken for another GPU allocation. */
static range_t kept[KEPT];
static int kept_next;

static void find_symbol(void *library, const char *name, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
}

bool prof_spaces_begin(void) {
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!library)
        return false;
    find_symbol(library, "cuPointerGetAttribute", &get_attribute, sizeof get_attribute);
    find_symbol(library, "cuMemGetAddressRange_v2", &get_range, sizeof get_range);
    return get_attribute != NULL;
}

static void keep(uintptr_t at, prof_space_t space) {
    unsigned long long base = 0;
    size_t bytes = 0;
    if (!get_range || get_range(&base, &bytes, (unsigned long long)at) != 0)
        return;
    kept[kept_next] = (range_t){(uintptr_t)base, (uintptr_t)base + bytes, space};
    kept_next = (kept_next + 1) % KEPT;
}

/* Memory that CUDA does not know is the host's, and so is page-locked memory. */
static prof_space_t ask_cuda(uintptr_t at) {
    unsigned type = 0, managed = 0;
    for (int i = 0; i < KEPT; i++)
        if (at >= kept[i].first && at < kept[i].until)
            return kept[i].space;
    if (get_attribute(&type, MEMORY_TYPE, (unsigned long long)at) != 0 || type < TYPE_DEVICE)
        return PROF_CPU;
    if (get_attribute(&managed, IS_MANAGED, (unsigned long long)at) != 0)
        managed = 0;
    prof_space_t space = (managed & 0xff) || type == TYPE_UNIFIED ? PROF_MANAGED : PROF_GPU;
    keep(at, space);
    return space;
}

/* --- either --------------------------------------------------------------------------------------------- */

prof_space_t prof_space(const void *memory) {
    uintptr_t at = (uintptr_t)memory;
    for (size_t i = 0; i < named_count; i++)
        if (at >= named[i].first && at < named[i].until)
            return named[i].space;
    return get_attribute && at != 0 ? ask_cuda(at) : PROF_CPU;
}

prof_space_t prof_message_space(const void *memory, MPI_Datatype type) {
    MPI_Aint first = 0, extent = 0;
    if (memory != MPI_BOTTOM || type == MPI_DATATYPE_NULL)
        return prof_space(memory);
    PMPI_Type_get_true_extent(type, &first, &extent);
    return prof_space((const char *)memory + first);
}
