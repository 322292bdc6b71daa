/* Variables for UCC (Unified Collective Communication), which runs a collective on GPU buffers by one of its
 * transport layers: which of NCCL and UCP, from which size on. A score of `inf` wins over the layers' own
 * scores (UCC's docs/user_guide.md, and src/coll_score/ucc_coll_score.c at 8263de47). UCC compares the bytes
 * of the destination buffer. */
#include <inttypes.h>
#include <string.h>

#include "export.h"

/* clang-format off */
#define ROW(collective_, name_, total_) \
    {.collective = PTO_COLLECTIVE_##collective_, .name = (name_), .strategy = "cuda_aware", .total = (total_), .needs_all = true, \
     .algorithm = {{.name = "NCCL", .strategy = "nccl"}, {.name = "UCP", .strategy = "cuda_aware"}}}
/* clang-format on */

static const pto_export_collective_t collectives[] = {ROW(ALLGATHER, "allgather", true),
                                                      ROW(ALLGATHERV, "allgatherv", true),
                                                      ROW(ALLREDUCE, "allreduce", false),
                                                      ROW(ALLTOALL, "alltoall", true),
                                                      ROW(BROADCAST, "bcast", false),
                                                      ROW(REDUCE, "reduce", false),
                                                      {.name = NULL}};

/* The ranges of one layer, both ends included. */
static void write_layer(const pto_export_t *export, FILE *stream, const char *layer) {
    bool begun = false;
    for (int t = 0; t < export->table_count; t++) {
        const pto_export_table_t *table = &export->table[t];
        for (int i = 0; i + 1 < table->rule_count; i++) {
            if (!table->rule[i].algorithm || strcmp(table->rule[i].algorithm->name, layer) != 0)
                continue;
            fprintf(stream, begun ? "#" : "UCC_TL_%s_TUNE=", layer);
            bool by_broadcasts = table->collective->collective == PTO_COLLECTIVE_ALLGATHERV &&
                                 strcmp(layer, "NCCL") == 0; /* by itself it takes NCCL's messages */
            fprintf(stream, "%s:cuda:%" PRId64 "-%" PRId64 ":[%" PRId64 "-%" PRId64 "]:inf%s",
                    table->collective->name, pto_export_size(table, table->rule[i].from_bytes),
                    pto_export_size(table, table->rule[i + 1].from_bytes) - 1, table->ranks, table->ranks,
                    by_broadcasts ? ":@bcast" : "");
            begun = true;
        }
    }
    if (begun)
        fputc('\n', stream);
}

static pto_status_t write_variables(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    (void)err;
    write_layer(export, stream, "NCCL");
    write_layer(export, stream, "UCP");
    return PTO_OK;
}

static pto_status_t write_notes(const pto_export_t *export, FILE *stream, const char *prefix,
                                pto_error_t *err) {
    fprintf(stream,
            "%suse: these lines as environment variables, or in the file that UCC_CONFIG_FILE names\n"
            "%steams of the same number of ranks on other nodes take these ranges too\n"
            "%snot expressed:\n"
            "%salgorithms within a layer, and its layer CUDA: portolan does not price them\n"
            "%sUCP is priced as the MPI library that the machine file was measured with\n",
            prefix, prefix, prefix, prefix, prefix);
    for (int i = 0; i < export->table_count; i++) {
        const pto_export_table_t *table = &export->table[i];
        if (table->rule_count == 1)
            fprintf(stream, "%s%s on %" PRId64 " ranks: the machine file has no price for both layers\n",
                    prefix, table->collective->name, table->ranks);
    }
    return pto_export_write_missed(export, NULL, stream, prefix, err);
}

const pto_export_target_t pto_export_ucc = {.name = "ucc",
                                            .collective = collectives,
                                            .gpus_only = true,
                                            .has_comments = true,
                                            .write = write_variables,
                                            .write_notes = write_notes};
