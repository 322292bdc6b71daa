/* Two numbers for Cray MPICH, which has no file (its manual page intro_mpi): from which size on an allreduce
 * reduces GPU buffers by a kernel instead of by the CPU, and in blocks of how many bytes it sends them. Each
 * holds for all communicators. The page says what they do, not how: the prices are those of the steps that
 * they decide about.
 */
#include <inttypes.h>

#include "export.h"
#include "machine/machine_internal.h"

enum { BLOCK_BYTES_LEAST = 64 << 10, BLOCK_BYTES_MOST = 64 << 20 }; /* Cray's default is 8 MiB */

static const pto_export_collective_t collectives[] = {
    {.collective = PTO_COLLECTIVE_ALLREDUCE, .name = "allreduce", .strategy = "three_step"}, {.name = NULL}};

static bool add(const pto_postal_t *cost, int64_t bytes, double *seconds) {
    if (cost)
        *seconds += cost->alpha_s.value + cost->beta_s_per_byte.value * (double)bytes;
    return cost;
}

/* Whether a kernel combines two vectors in GPU memory as fast as a copy to the host, the CPU and a copy back.
 * False also where the machine does not know. */
static bool kernel_is_as_fast(const pto_machine_t *machine, int64_t bytes, bool *known) {
    double gpu_s = 0, host_s = 0;
    *known = add(pto_machine_reduce(machine, PTO_SPACE_GPU, bytes), bytes, &gpu_s) &&
             add(pto_machine_reduce(machine, PTO_SPACE_CPU, bytes), bytes, &host_s) &&
             add(pto_machine_copy(machine, PTO_COPY_D2H, PTO_REACH_ON_SOCKET, false), bytes, &host_s) &&
             add(pto_machine_copy(machine, PTO_COPY_H2D, PTO_REACH_ON_SOCKET, false), bytes, &host_s);
    return *known && gpu_s <= host_s;
}

/* The least of the sizes from which on the kernel is as fast at all; -1: none, or unknown. */
static int64_t find_threshold(const pto_export_t *export, bool *known) {
    int64_t at = export->bytes.count;
    *known = true;
    while (at > 0 && kernel_is_as_fast(export->options.machine, export->bytes.value[at - 1], known))
        at--;
    return *known && at < export->bytes.count ? export->bytes.value[at] : -1;
}

/* The least power of two for which a message costs its bytes, up to the tolerance; 0: unknown. */
static int64_t find_block(const pto_export_t *export) {
    const pto_machine_t *machine = export->options.machine;
    for (int64_t bytes = BLOCK_BYTES_LEAST;; bytes *= 2) {
        const pto_cost_row_t *row = pto_machine_message(machine, PTO_SPACE_CPU, PTO_LEVEL_OFF_NODE, bytes);
        if (!row)
            return 0;
        double bytes_s = row->postal.beta_s_per_byte.value * (double)bytes;
        if (row->postal.alpha_s.value <= bytes_s * export->options.tolerance / 100 ||
            bytes == BLOCK_BYTES_MOST)
            return bytes;
    }
}

static pto_status_t write_variables(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    bool known;
    int64_t threshold = find_threshold(export, &known), block = find_block(export);
    (void)err;
    if (threshold >= 0)
        fprintf(stream,
                "MPICH_GPU_ALLREDUCE_USE_KERNEL=1\nMPICH_GPU_ALLREDUCE_KERNEL_THRESHOLD=%" PRId64 "\n",
                threshold);
    else if (known)
        fprintf(stream, "MPICH_GPU_ALLREDUCE_USE_KERNEL=0\n");
    if (block > 0)
        fprintf(stream, "MPICH_GPU_ALLREDUCE_BLK_SIZE=%" PRId64 "\n", block);
    return PTO_OK;
}

static pto_status_t write_notes(const pto_export_t *export, FILE *stream, const char *prefix,
                                pto_error_t *err) {
    bool known;
    find_threshold(export, &known);
    (void)err;
    fprintf(
        stream,
        "%suse: these lines as environment variables, for all communicators\n"
        "%sthe threshold: a kernel instead of two copies and the CPU; the block: what its message's start "
        "costs is within the tolerance\n"
        "%snot expressed:\n"
        "%salgorithms: Cray MPICH has no file for them\n",
        prefix, prefix, prefix, prefix);
    if (!known)
        fprintf(stream, "%sthe threshold: the machine file lacks reduce.gpu, reduce.cpu or copies\n", prefix);
    if (find_block(export) == 0)
        fprintf(stream, "%sthe block: the machine file has no messages between nodes\n", prefix);
    return PTO_OK;
}

const pto_export_target_t pto_export_cray = {.name = "cray",
                                             .collective = collectives,
                                             .has_comments = true,
                                             .write = write_variables,
                                             .write_notes = write_notes};
