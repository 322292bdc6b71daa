/* Environment variables that tell UCC (Unified Collective Communication) for which sizes to use NCCL and for
 * which UCP. These are two of its transport layers, one of which runs a collective on GPU buffers. The layer
 * with the highest score runs a call; a score of `inf` beats the layers' default scores (UCC's
 * docs/user_guide.md, src/coll_score/ucc_coll_score.c at 8263de47). The sizes in UCC's ranges are bytes of
 * the destination buffer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/text_file.h"
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

/* Returns the last size of a rule's range. UCC's ranges include both ends and cannot have a single size. */
static int64_t last_size(const pto_export_table_t *table, int rule) {
    int64_t first = pto_export_size(table, table->rule[rule].from_bytes);
    int64_t last = pto_export_size(table, table->rule[rule + 1].from_bytes) - 1;
    return last > first ? last : first + 1;
}

/* Adds a rule as UCC's setting COLLECTIVE:cuda:SIZES:[RANKS]:inf. */
static void add_range(pto_text_t *text, const pto_export_table_t *table, int rule, const char *layer) {
    bool by_broadcasts =
        table->collective->collective == PTO_COLLECTIVE_ALLGATHERV &&
        strcmp(layer, "NCCL") == 0; /* UCC's default would be NCCL's point-to-point messages */
    pto_text_add(text, "%s:cuda:%" PRId64 "-%" PRId64 ":[%" PRId64 "-%" PRId64 "]:inf%s",
                 table->collective->name, pto_export_size(table, table->rule[rule].from_bytes),
                 last_size(table, rule), table->ranks, table->ranks, by_broadcasts ? ":@bcast" : "");
}

/* Write the ranges of one layer as one line. */
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

/* To check a file, find the layer with the highest score, which runs the call. A layer whose score the file
 * does not set has its default score. UCC may have been built without a layer: only UCP, and the layers that
 * the file sets, are sure to be built in. */

/* The layers' default scores (src/components/tl/.../tl_....h). SHARP has to be enabled; the others with 0 do
 * not run collectives on NVIDIA's GPUs. CUDA only works within a node. */
static const int64_t default_scores[PTO_UCC_LAYER_COUNT] = {
    [PTO_UCC_NCCL] = 20, [PTO_UCC_UCP] = 10, [PTO_UCC_CUDA] = 40, [PTO_UCC_RCCL] = 0};

/* The file's rules, read for one table. */
typedef struct {
    const pto_ucc_rules_t *rules;
    const pto_export_table_t *table;
    unsigned collective; /* its bit, as in pto_ucc_setting_t */
    bool ucp_is_set;     /* outside sections: UCC then ignores UCP's settings in sections */
} reader_t;

/* Returns false if a condition excludes the table's communicator from a section. */
static bool may_apply(const pto_ucc_section_t *section, const pto_export_table_t *table) {
    return pto_export_range_has(&section->ranks, table->ranks) &&
           pto_export_range_has(&section->nodes, table->nodes) &&
           pto_export_range_has(&section->ranks_per_node, table->ranks / table->nodes);
}

/* Whether a setting may apply to the table's collective and communicator. */
static bool is_for(const reader_t *reader, const pto_ucc_setting_t *setting) {
    const pto_ucc_rules_t *rules = reader->rules;
    bool has_team = setting->teams.begin == setting->teams.end;
    for (int i = setting->teams.begin; i < setting->teams.end && !has_team; i++)
        has_team = pto_export_range_has(&rules->range[i], reader->table->ranks);
    if (!has_team || !(setting->collectives & reader->collective) ||
        !(setting->memories & 1u << PTO_UCC_MEMORY_CUDA))
        return false;
    return setting->section < 0 ||
           (!reader->ucp_is_set && may_apply(&rules->section[setting->section], reader->table));
}

/* Returns whether a setting applies from this size up to the next limit. */
static bool holds(const reader_t *reader, const pto_ucc_setting_t *setting, int64_t bytes) {
    if (setting->bytes.begin == setting->bytes.end)
        return true;
    for (int i = setting->bytes.begin; i < setting->bytes.end; i++)
        if (reader->rules->range[i].first <= bytes && bytes < reader->rules->range[i].last)
            return true;
    return false;
}

/* The next size at which a range begins or ends; INT64_MAX if there is none. */
static int64_t next_limit(const reader_t *reader, int64_t bytes) {
    int64_t next = INT64_MAX;
    for (int s = 0; s < reader->rules->setting_count; s++) {
        const pto_ucc_setting_t *setting = &reader->rules->setting[s];
        if (!is_for(reader, setting))
            continue;
        for (int i = setting->bytes.begin; i < setting->bytes.end; i++) {
            const pto_export_range_t *range = &reader->rules->range[i];
            if (range->first > bytes && range->first < next)
                next = range->first;
            if (range->last > bytes && range->last < next)
                next = range->last;
        }
    }
    return next;
}

/* The settings that apply from a size on to the next limit. */
typedef struct {
    const pto_ucc_setting_t *setting[PTO_UCC_LAYER_COUNT]; /* NULL: none for this layer */
    bool is_any;                                           /* a layer or component has a setting */
    const char *unknown;                                   /* why the layer cannot be determined, or NULL */
} settings_t;

static settings_t find_settings(const reader_t *reader, int64_t bytes) {
    settings_t settings = {.unknown = NULL};
    for (int s = 0; s < reader->rules->setting_count; s++) {
        const pto_ucc_setting_t *setting = &reader->rules->setting[s];
        if (!is_for(reader, setting) || !holds(reader, setting, bytes))
            continue;
        settings.is_any = true;
        if (setting->owner >= PTO_UCC_LAYER_COUNT)
            settings.unknown = "decided by a component";
        else if (setting->section >= 0)
            settings.unknown = "decided in a section";
        else
            settings.setting[setting->owner] = setting;
    }
    if (settings.is_any && reader->rules->components_given)
        settings.unknown = "decided by a component";
    return settings;
}

/* The score of a layer; 0 if it does not run. `*sure`: the layer is sure to be built in. */
static int64_t score_of(const reader_t *reader, const settings_t *settings, int layer, bool *sure) {
    const pto_ucc_rules_t *rules = reader->rules;
    const pto_ucc_setting_t *setting = settings->setting[layer];
    bool used = rules->layers_used >> layer & 1;
    *sure = setting || layer == PTO_UCC_UCP;
    if ((rules->layers_given && !used) || (layer == PTO_UCC_CUDA && reader->table->nodes > 1))
        return 0;
    return setting && setting->score >= 0 ? setting->score : default_scores[layer];
}

/* Sets the rule to a layer. It has a price if the layer runs the algorithm that portolan prices: broadcasts
 * for NCCL's allgatherv, else the layer's default. */
static void name_layer(const reader_t *reader, const settings_t *settings, int layer,
                       pto_export_rule_t *rule) {
    const pto_ucc_setting_t *setting = settings->setting[layer];
    const char *algorithm = setting ? setting->algorithm : "";
    const pto_export_collective_t *collective = reader->table->collective;
    const pto_export_algorithm_t *found =
        pto_export_algorithm(collective, pto_ucc_owner_name((pto_ucc_owner_t)layer));
    bool by_broadcasts = layer == PTO_UCC_NCCL && collective->collective == PTO_COLLECTIVE_ALLGATHERV;
    bool priced =
        by_broadcasts ? strcmp(algorithm, "bcast") == 0 || strcmp(algorithm, "2") == 0 : !*algorithm;
    if (found && priced)
        rule->algorithm = found;
    else
        snprintf(rule->unpriced, sizeof rule->unpriced, "%s%s%s", pto_ucc_owner_name((pto_ucc_owner_t)layer),
                 *algorithm      ? " @"
                 : by_broadcasts ? ", its own choice"
                                 : "",
                 algorithm);
}

/* Describes the choice if layers that may not be built in have the highest scores: "CUDA or NCCL if built,
 * else UCP". `unsure` has the scores of these layers, 0 for others; `best` is the layer with `sure_score`, or
 * -1. */
static void name_unsure(const reader_t *reader, const int64_t *unsure, int64_t sure_score, int best,
                        pto_export_rule_t *rule) {
    const pto_ucc_rules_t *rules = reader->rules;
    const bool nccl_out = rules->layers_given && !(rules->layers_used >> PTO_UCC_NCCL & 1);
    char text[sizeof rule->unpriced] = "";
    size_t length = 0;
    for (int layer = 0; layer < PTO_UCC_LAYER_COUNT; layer++)
        if (unsure[layer] > sure_score)
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", length > 0 ? " or " : "",
                                       pto_ucc_owner_name((pto_ucc_owner_t)layer));
    snprintf(rule->unpriced, sizeof rule->unpriced, "%.12s if built%s%.6s%s", text,
             best >= 0 ? ", else " : "", best >= 0 ? pto_ucc_owner_name((pto_ucc_owner_t)best) : "",
             nccl_out ? "; not NCCL" : "");
}

/* Returns the rule that applies from a size on, and sets the highest score. */
static pto_export_rule_t find_rule(const reader_t *reader, int64_t bytes, int64_t *score) {
    settings_t settings = find_settings(reader, bytes);
    const bool has_settings = settings.is_any || reader->rules->layers_given;
    pto_export_rule_t rule = {.from_bytes = 0};
    int best = -1; /* of the layers that are sure to be built in; -1: none */
    int64_t sure_score = 0, unsure_score = 0;
    bool tie = false; /* two of these layers have sure_score */
    int64_t unsure[PTO_UCC_LAYER_COUNT] = {0};
    for (int layer = 0; layer < PTO_UCC_LAYER_COUNT; layer++) {
        bool sure;
        int64_t layer_score = score_of(reader, &settings, layer, &sure);
        if (!sure) {
            unsure_score = layer_score > unsure_score ? layer_score : unsure_score;
            unsure[layer] = layer_score;
        } else if (layer_score > 0 && layer_score >= sure_score) {
            tie = layer_score == sure_score;
            sure_score = layer_score;
            best = layer;
        }
    }
    *score = sure_score > unsure_score ? sure_score : unsure_score;
    if (settings.unknown)
        snprintf(rule.unpriced, sizeof rule.unpriced, "%s", settings.unknown);
    else if (has_settings && tie && sure_score > unsure_score)
        snprintf(rule.unpriced, sizeof rule.unpriced, "layers with the same score");
    else if (has_settings && best >= 0 && sure_score > unsure_score)
        name_layer(reader, &settings, best, &rule);
    else if (reader->rules->layers_given && unsure_score > sure_score)
        name_unsure(reader, unsure, sure_score, best, &rule);
    return rule;
}

/* Fills a table with the file's rules. UCC's ranges include both ends: a size at which two ranges meet
 * belongs to the one with the higher score, else to the upper one. If the file's sizes are those of all
 * ranks' blocks, they are divided by the ranks: portolan counts one block. */
static pto_status_t fill_table(const reader_t *reader, pto_export_table_t *table, const char *path,
                               pto_error_t *err) {
    int64_t blocks = table->collective->total ? table->ranks : 1, last_score = 0;
    int limits = 0;
    table->rule_count = 0;
    for (int64_t bytes = 0; bytes < INT64_MAX; bytes = next_limit(reader, bytes)) {
        if (limits++ == PTO_EXPORT_RULES_MAX)
            return pto_error_set_at(err, PTO_ERR_RANGE, path, 0, 0, "more than %d ranges of sizes",
                                    PTO_EXPORT_RULES_MAX);
        int64_t score;
        pto_export_rule_t rule = find_rule(reader, bytes, &score);
        int64_t begin = bytes > 0 && last_score > score ? bytes + 1 : bytes;
        rule.from_bytes = begin / blocks + (begin % blocks > 0);
        last_score = score;
        int last = table->rule_count - 1;
        bool is_same_size = last >= 0 && table->rule[last].from_bytes == rule.from_bytes;
        last += !is_same_size;
        table->rule[last] = rule;
        table->rule_count = last + 1;
    }
    return PTO_OK;
}

static bool sets_ucp(const pto_ucc_rules_t *rules) {
    for (int i = 0; i < rules->setting_count; i++)
        if (rules->setting[i].owner == PTO_UCC_UCP && rules->setting[i].section < 0)
            return true;
    return false;
}

static pto_status_t read_file(const pto_export_file_t *file, pto_export_t *export, pto_error_t *err) {
    pto_ucc_rules_t rules;
    pto_status_t status = pto_ucc_rules_read(file->text, file->size, file->path, &rules, err);
    if (status != PTO_OK)
        return status;
    export->conditional_line = rules.conditional_line;
    for (int t = 0; t < export->table_count && status == PTO_OK; t++) {
        pto_export_table_t *table = &export->table[t];
        reader_t reader = {.rules = &rules,
                           .table = table,
                           .collective = 1u << pto_ucc_collective(table->collective->name),
                           .ucp_is_set = sets_ucp(&rules)};
        status = fill_table(&reader, table, file->path, err);
    }
    pto_ucc_rules_fini(&rules);
    return status;
}

const pto_export_target_t pto_export_ucc = {.name = "ucc",
                                            .collective = collectives,
                                            .bytes_max = 1 << 20,
                                            .gpus_only = true,
                                            .has_comments = true,
                                            .write = write_variables,
                                            .write_notes = write_notes,
                                            .read = read_file};
