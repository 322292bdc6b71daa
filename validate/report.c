/* The table that people read, and the file that `portolan score` reads. */
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "portolan/strategy.h"
#include "validate.h"

void report_header(FILE *file, const pto_options_t *options, const settings_t *settings) {
    const pto_scenario_t *scenario = &options->scenario;
    const pto_layout_t *layout = &scenario->layout;
    fprintf(file, "# validate: %s on device %s, against the machine %s\n",
            pto_collective_name(scenario->collective), settings->device->name, options->machine.name);
    fprintf(file, "# layout: %lld nodes x %lld GPUs x %lld processes, %lld of them owners\n",
            (long long)layout->nodes, (long long)layout->gpus_per_node, (long long)layout->cores_per_gpu,
            (long long)layout->owners_per_gpu);
    if (strcmp(settings->device->name, "host") == 0)
        fprintf(file, "# host memory stands in for the GPU: these are no GPU's times\n");
    if (settings->check_only)
        fprintf(file, "# results only, no times\n");
    else
        fprintf(file,
                "# measured: median of %d runs, each its slowest process; [95%% interval]; times in us\n"
                "# %-10s %-14s %-28s %12s %12s %25s %12s %10s\n",
                settings->repeats, "Bytes", "Strategy", "Algorithm", "Least", "Median", "Interval",
                "Predicted", "Pred/meas");
}

static void report_cell(FILE *file, const pto_request_t *request, const cell_t *cell, bool check_only) {
    fprintf(file, "%-12lld %-14s ", (long long)request->bytes, cell->strategy->name);
    if (cell->reason[0]) {
        fprintf(file, "does not apply: %s\n", cell->reason);
        return;
    }
    char name[64];
    snprintf(name, sizeof name, "%s%s", cell->algorithm->name, cell->by_library ? " (library)" : "");
    if (check_only) {
        fprintf(file, "%-28s right\n", name);
        return;
    }
    fprintf(file, "%-28s %12.2f %12.2f [%11.2f,%11.2f] %12.2f %10.3f\n", name, cell->least_s * 1e6,
            cell->median_s * 1e6, cell->low_s * 1e6, cell->high_s * 1e6, cell->predicted_s * 1e6,
            cell->predicted_s / cell->median_s);
}

void report_point(FILE *file, const pto_request_t *request, const cell_t *cells, int count, bool check_only) {
    int picked = -1, won = -1;
    for (int i = 0; i < count; i++) {
        report_cell(file, request, &cells[i], check_only);
        if (cells[i].reason[0])
            continue;
        if (picked < 0 || cells[i].predicted_s < cells[picked].predicted_s)
            picked = i;
        if (won < 0 || cells[i].median_s < cells[won].median_s)
            won = i;
    }
    if (!check_only && picked >= 0)
        fprintf(file, "%-12s picked %s, won %s, regret %.3f\n", "", cells[picked].strategy->name,
                cells[won].strategy->name, cells[picked].median_s / cells[won].median_s);
    fflush(file);
}

void csv_header(FILE *file, const pto_options_t *options, const settings_t *settings, int argc, char **argv) {
    char date[32] = "", library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, size = 0;
    time_t now = time(NULL);
    struct utsname name = {0};
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    uname(&name);
    MPI_Get_library_version(library, &length);
    library[strcspn(library, ",\n")] = '\0';
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fprintf(file, "# date=%s\n# machine=%s\n# device=%s\n# host=%s %s %s\n# mpi=%s\n", date,
            options->machine.name, settings->device->name, name.sysname, name.release, name.machine, library);
    fprintf(file,
            "# processes=%d\n# datatype=%s\n# op=%s\n# clock=MPI_Wtime\n# portolan=%s\n# command=", size,
            pto_datatype_name(options->scenario.datatype), pto_op_name(settings->op), PORTOLAN_VERSION);
    for (int i = 0; i < argc; i++)
        fprintf(file, "%s%s", i ? " " : "", argv[i]);
    fprintf(file,
            "\ncollective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu%s,bytes,run,seconds\n",
            options->scenario.layout.owners_per_gpu != 1 ? ",owners_per_gpu" : "");
}

static const char *implementation(const pto_request_t *request, const cell_t *cell) {
    if (cell->by_library)
        return pto_implementation_name(PTO_IMPLEMENTATION_LIBRARY);
    bool posted = request->implementation == PTO_IMPLEMENTATION_ISEND_IRECV ||
                  request->collective == PTO_COLLECTIVE_MESSAGES;
    return posted ? pto_implementation_name(PTO_IMPLEMENTATION_ISEND_IRECV) : cell->algorithm->name;
}

void csv_cell(FILE *file, const pto_request_t *request, const cell_t *cell) {
    const pto_layout_t *layout = &request->layout;
    char owners[24] = "";
    if (layout->owners_per_gpu != 1)
        snprintf(owners, sizeof owners, ",%lld", (long long)layout->owners_per_gpu);
    for (int i = 0; i < cell->sample_count; i++)
        fprintf(file, "%s,%s,%s,%lld,%lld,%lld%s,%lld,%d,%.9g\n", pto_collective_name(request->collective),
                implementation(request, cell), cell->strategy->name, (long long)layout->nodes,
                (long long)layout->gpus_per_node,
                (long long)(cell->strategy->splits ? layout->cores_per_gpu : layout->owners_per_gpu), owners,
                (long long)request->bytes, i + 1, cell->sample_s[i]);
    fflush(file);
}
