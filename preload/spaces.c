/* Finds the memory space of a buffer: first among the memory that the program has declared, then by CUDA's
 * driver. The wrappers ask for each buffer of each call, so the common case is answered without the driver.
 */
#include "spaces.h"

#include <link.h>
#include <unistd.h>

#include "base/grow.h"
#include "driver.h"
#include "next.h"

/* Exported for programs: treat `bytes` of memory from `at` on as GPU memory; 0 bytes: no longer. */
void portolan_profile_memory(const void *at, size_t bytes);

/* Addresses from `first` to before `until`. */
typedef struct {
    uintptr_t first;
    uintptr_t until;
} range_t;

bool preload_spaces_differ;
static range_t *declared;
static size_t declared_count, declared_capacity;

/* Another preloaded library behind this one may have the same function. */
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
    while (i < declared_count && declared[i].first != first)
        i++;
    if (i < declared_count)
        declared[i] = declared[--declared_count];
    if (bytes == 0)
        return;
    if (!PTO_RESERVE(declared, declared_capacity, declared_count + 1))
        return;
    declared[declared_count++] = (range_t){first, first + bytes};
    preload_spaces_differ = true;
}

/* From cuda.h, which need not be installed. */
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, TYPE_DEVICE = 2, TYPE_UNIFIED = 4 };

/* Start of the program's static memory. This memory and the heap that follows it are host memory, for which
 * the driver, the slowest step by far, need not be asked. */
static uintptr_t program;
static bool has_driver;

static int find_program(struct dl_phdr_info *info, size_t size, void *context) {
    (void)size, (void)context;
    for (int i = info->dlpi_phnum - 1; i >= 0; i--)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            program = (uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    return 1; /* the program is the first one */
}

static bool is_of_program(const void *memory) {
    return (uintptr_t)memory >= program && (uintptr_t)memory < (uintptr_t)sbrk(0);
}

bool preload_spaces_begin(void) {
    has_driver = preload_driver()->get_attributes != NULL;
    preload_spaces_differ |= has_driver;
    dl_iterate_phdr(find_program, NULL);
    return has_driver;
}

/* Memory that CUDA does not know is host memory, and so is page-locked memory. Answers are not cached: after
 * GPU memory is freed, its addresses can be reused for host memory. */
static preload_space_t ask_cuda(const void *memory) {
    static const int attributes[] = {MEMORY_TYPE, IS_MANAGED};
    unsigned type = 0, managed = 0;
    void *data[] = {&type, &managed};
    if (preload_driver()->get_attributes(2, attributes, data, (unsigned long long)(uintptr_t)memory) != 0)
        return PRELOAD_CPU;
    if ((managed & 0xff) || type == TYPE_UNIFIED)
        return PRELOAD_MANAGED;
    return type >= TYPE_DEVICE ? PRELOAD_GPU : PRELOAD_CPU;
}

preload_space_t preload_space(const void *memory) {
    uintptr_t at = (uintptr_t)memory;
    for (size_t i = 0; i < declared_count; i++)
        if (at >= declared[i].first && at < declared[i].until)
            return PRELOAD_GPU;
    return has_driver && !is_of_program(memory) ? ask_cuda(memory) : PRELOAD_CPU;
}

preload_space_t preload_find_message_space(const void *memory, MPI_Datatype type) {
    MPI_Aint first = 0, extent = 0;
    if (memory != MPI_BOTTOM || type == MPI_DATATYPE_NULL)
        return preload_space(memory);
    PMPI_Type_get_true_extent(type, &first, &extent);
    return preload_space((const char *)memory + first);
}
