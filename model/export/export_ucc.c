/* Variables for UCC (Unified Collective Communication), which runs a collective on GPU buffers by one of its
 * transport layers: which of NCCL and UCP, from which size on. A score of `inf` wins over the layers' own
 * scores (UCC's docs/user_guide.md, and src/coll_score/ucc_coll_score.c at 8263de47). UCC compares the bytes
 * of the destination buffer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export.h"
#include "ucc_rules.h"

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

/* Returns the last size of a rule's range. UCC's ranges include both ends and must not be a single size. */
static int64_t last_size(const pto_export_table_t *table, int rule) {
    int64_t first = pto_export_size(table, table->rule[rule].from_bytes);
    int64_t last = pto_export_size(table, table->rule[rule + 1].from_bytes) - 1;
    return last > first ? last : first + 1;
}

static void add_range(pto_text_t *text, const pto_export_table_t *table, int rule, const char *layer) {
    bool by_broadcasts = table->collective->collective == PTO_COLLECTIVE_ALLGATHERV &&
                         strcmp(layer, "NCCL") == 0; /* by itself it takes NCCL's messages */
    pto_text_add(text, "%s:cuda:%" PRId64 "-%" PRId64 ":[%" PRId64 "-%" PRId64 "]:inf%s",
                 table->collective->name, pto_export_size(table, table->rule[rule].from_bytes),
                 last_size(table, rule), table->ranks, table->ranks, by_broadcasts ? ":@bcast" : "");
}

/* The ranges of one layer, in one line. */
static pto_status_t write_layer(const pto_export_t *export, FILE *stream, const char *layer,
                                pto_error_t *err) {
    pto_text_t text = {.text = NULL};
    pto_status_t status = PTO_OK;
    for (int t = 0; t < export->table_count; t++) {
        const pto_export_table_t *table = &export->table[t];
        for (int i = 0; i + 1 < table->rule_count; i++) {
            if (!table->rule[i].algorithm || strcmp(table->rule[i].algorithm->name, layer) != 0)
                continue;
            pto_text_add(&text, text.length > 0 ? "#" : "UCC_TL_%s_TUNE=", layer);
            add_range(&text, table, i, layer);
        }
    }
    if (text.out_of_memory)
        status = pto_error_set(err, PTO_ERR_MEMORY, "out of memory for rules");
    else if (text.length > PTO_UCC_LINE_MAX)
        status = pto_error_set(err, PTO_ERR_TOO_LARGE,
                               "UCC reads lines of at most %d bytes, and layer %s needs %zu: ask for fewer "
                               "--nodes, or one --collective at a time",
                               PTO_UCC_LINE_MAX, layer, text.length);
    else if (text.length > 0)
        fprintf(stream, "%s\n", text.text);
    free(text.text);
    return status;
}

static pto_status_t write_variables(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    pto_status_t status = write_layer(export, stream, "NCCL", err);
    return status == PTO_OK ? write_layer(export, stream, "UCP", err) : status;
}

static pto_status_t write_notes(const pto_export_t *export, FILE *stream, pto_error_t *err) {
    fputs("use: these lines as environment variables, or in the file that UCC_CONFIG_FILE names\n"
          "teams of the same number of ranks on other nodes take these ranges too\n"
          "not expressed:\n"
          "algorithms within a layer, and its layer CUDA: portolan does not price them\n"
          "UCP is priced as the MPI library that the machine file was measured with\n",
          stream);
    for (int i = 0; i < export->table_count; i++) {
        const pto_export_table_t *table = &export->table[i];
        if (table->rule_count == 1)
            fprintf(stream, "%s on %" PRId64 " ranks: the machine file has no price for both layers\n",
                    table->collective->name, table->ranks);
    }
    return pto_export_write_missed(export, NULL, stream, err);
}

const pto_export_target_t pto_export_ucc = {.name = "ucc",
                                            .collective = collectives,
                                            .gpus_only = true,
                                            .has_comments = true,
                                            .write = write_variables,
                                            .write_notes = write_notes,
                                            .read = pto_ucc_read};
