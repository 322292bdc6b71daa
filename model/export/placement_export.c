/* Writes the placements that `portolan map` finds for launchers: Open MPI's rankfile, Slurm's host file, and
 * CUDA_VISIBLE_DEVICES. */
#include "placement_export.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "portolan/output.h"

static int64_t host_count(const char *hosts) {
    int64_t count = 1;
    for (; *hosts; hosts++)
        count += *hosts == ',';
    return count;
}

/* Print the name of a node: from --hosts, else "node0", "node1" and so on. */
static void print_host(FILE *file, const char *hosts, int64_t node) {
    if (!hosts) {
        fprintf(file, "node%lld", (long long)node);
        return;
    }
    while (node-- > 0)
        hosts = strchr(hosts, ',') + 1;
    fprintf(file, "%.*s", (int)strcspn(hosts, ","), hosts);
}

/* Returns the core of a process within its socket. The processes of a socket's GPUs take its cores in order:
 * those of the first GPU, then those of the next. */
static int64_t core_of_socket(const pto_layout_t *layout, pto_rank_t at) {
    return at.gpu % layout->gpus_per_socket * layout->procs_per_gpu + at.core;
}

static pto_status_t check_cores(const pto_placement_export_t *placement, pto_error_t *err) {
    const pto_layout_t *layout = placement->layout;
    for (int64_t process = 0; process < placement->mapping->count; process++) {
        pto_rank_t at = placement->mapping->at[process].place;
        if (core_of_socket(layout, at) >= placement->cores_per_socket)
            return pto_error_set(err, PTO_ERR_RANGE,
                                 "--rankfile: process %lld would be on core %lld of socket %lld, which has "
                                 "%lld (--procs-per-gpu)",
                                 (long long)process, (long long)core_of_socket(layout, at),
                                 (long long)(at.gpu / layout->gpus_per_socket),
                                 (long long)placement->cores_per_socket);
    }
    return PTO_OK;
}

/* In a rankfile, a slot is SOCKET:CORE; a number alone would count the cores of all sockets. */
static void print_process(FILE *file, const pto_placement_export_t *placement, pto_placement_form_t form,
                          int64_t process) {
    const pto_layout_t *layout = placement->layout;
    pto_rank_t at = placement->mapping->at[process].place;
    if (form == PTO_PLACEMENT_RANKFILE) {
        fprintf(file, "rank %lld=", (long long)process);
        print_host(file, placement->hosts, at.node);
        fprintf(file, " slot=%lld:%lld\n", (long long)(at.gpu / layout->gpus_per_socket),
                (long long)core_of_socket(layout, at));
    } else if (form == PTO_PLACEMENT_SLURM) {
        print_host(file, placement->hosts, at.node);
        fprintf(file, "\n");
    } else {
        fprintf(file, "%lld\n", (long long)at.gpu);
    }
}

static pto_status_t print_all(FILE *file, const pto_placement_export_t *placement, pto_placement_form_t form,
                              pto_error_t *err) {
    char *text = NULL;
    if (form == PTO_PLACEMENT_CSV) {
        pto_status_t status = pto_mapping_write(placement->mapping, &text, err);
        fputs(text ? text : "", file);
        free(text);
        return status;
    }
    for (int64_t process = 0; process < placement->mapping->count; process++)
        print_process(file, placement, form, process);
    return PTO_OK;
}

pto_status_t pto_placement_export(const pto_placement_export_t *placement, pto_placement_form_t form,
                                  const char *path, pto_error_t *err) {
    if (form == PTO_PLACEMENT_RANKFILE && !placement->hosts)
        return pto_error_set(err, PTO_ERR_RANGE, "--rankfile needs --hosts: Open MPI finds nodes by name");
    if (form == PTO_PLACEMENT_RANKFILE && check_cores(placement, err) != PTO_OK)
        return PTO_ERR_RANGE;
    if (placement->hosts && host_count(placement->hosts) < placement->layout->nodes)
        return pto_error_set(err, PTO_ERR_RANGE, "--hosts: %lld names for %lld nodes",
                             (long long)host_count(placement->hosts), (long long)placement->layout->nodes);
    pto_error_t fault = {.status = PTO_OK};
    if (placement->hosts && pto_name_check(placement->hosts, SIZE_MAX, &fault) != PTO_OK)
        return pto_error_set(err, fault.status, "--hosts: %s", fault.message);
    pto_output_t *output = NULL;
    pto_status_t status = pto_output_open(path, placement->force, &output, err);
    if (status != PTO_OK)
        return status;
    status = print_all(pto_output_stream(output), placement, form, err);
    pto_status_t closed = pto_output_close(output, status == PTO_OK, status == PTO_OK ? err : NULL);
    return status == PTO_OK ? closed : status;
}
