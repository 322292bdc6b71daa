/* UCC's variables: what is written is what is read, for any rules. */
#include "export/export.h"
#include "export/ucc_rules.h"
#include "files.h"
#include "test.h"

enum { COLLECTIVES = 6, RANKS_MAX = 80, TABLES_MAX = COLLECTIVES * (RANKS_MAX - 1), ROUNDS = 200 };

static char path[128];
static pto_export_table_t *written, *back;

static int make_room(void **state) {
    written = calloc(TABLES_MAX, sizeof *written);
    back = calloc(TABLES_MAX, sizeof *back);
    if (make_folder(state) != 0 || !written || !back)
        return -1;
    snprintf(path, sizeof path, "%s", in_folder("ucc.conf"));
    return 0;
}

static int free_room(void **state) {
    free(written);
    free(back);
    return remove_folder(state);
}

/* Rules as pto_export_decide makes them: neighbours differ, and the library decides from the last one on. */
static void make_rules(pto_export_table_t *table, int rule_count) {
    const pto_export_algorithm_t *last = NULL;
    int64_t from_bytes = 0;
    table->rule_count = 0;
    for (int i = 0; i + 1 < rule_count; i++) {
        int kind = rand() % 3;
        const pto_export_algorithm_t *algorithm = kind < 2 ? &table->collective->algorithm[kind] : NULL;
        if (i > 0 && algorithm == last)
            continue;
        table->rule[table->rule_count++] = (pto_export_rule_t){from_bytes, algorithm, ""};
        last = algorithm;
        from_bytes += 1 + rand() % (rand() % 2 ? 4 : 100000);
    }
    if (last)
        table->rule[table->rule_count++] = (pto_export_rule_t){.from_bytes = from_bytes};
}

static int make_tables(pto_export_t *export, int64_t ranks_most, int rule_count) {
    int count = 0;
    for (int c = 0; c < COLLECTIVES; c++)
        for (int64_t ranks = 2; ranks <= ranks_most; ranks++) {
            pto_export_table_t *table = &written[count];
            *table = (pto_export_table_t){
                .collective = &export->target->collective[c], .nodes = ranks, .ranks = ranks};
            make_rules(table, rule_count);
            back[count] = *table;
            back[count++].rule_count = 0;
        }
    export->table_count = count;
    export->table = written;
    return count;
}

static pto_status_t write_file(const pto_export_t *export, pto_error_t *err) {
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    pto_status_t status = export->target->write(export, stream, err);
    assert_int_equal(fclose(stream), 0);
    return status;
}

/* UCC has no ranges of one size, so that such a one takes another byte of what follows. */
static bool is_extra_byte(const pto_export_table_t *table, int64_t bytes) {
    for (int i = 0; i + 1 < table->rule_count; i++)
        if (table->rule[i].algorithm &&
            pto_export_size(table, table->rule[i].from_bytes) + 1 ==
                pto_export_size(table, table->rule[i + 1].from_bytes) &&
            bytes == table->rule[i + 1].from_bytes)
            return true;
    return false;
}

static void compare(const pto_export_table_t *table, const pto_export_table_t *read, int64_t bytes) {
    if (bytes >= 0 && !is_extra_byte(table, bytes))
        assert_ptr_equal(pto_export_rule_at(read, bytes)->algorithm,
                         pto_export_rule_at(table, bytes)->algorithm);
}

TEST(rules_are_read_as_they_were_written) {
    pto_export_t export = {.target = &pto_export_ucc};
    pto_error_t err = {0};
    srand(1);
    for (int round = 0; round < ROUNDS; round++) {
        int count = make_tables(&export, 2 + rand() % 3, 1 + rand() % 5);
        assert_int_equal(write_file(&export, &err), PTO_OK);
        export.table = back;
        assert_int_equal(pto_export_read(path, &export, &err), PTO_OK);
        for (int t = 0; t < count; t++)
            for (int i = 0; i < written[t].rule_count; i++)
                for (int64_t near = -1; near <= 1; near++)
                    compare(&written[t], &back[t], written[t].rule[i].from_bytes + near);
    }
}

/* UCC reads the rest of a longer line as another one. */
TEST(a_line_that_ucc_would_cut_is_not_written) {
    pto_export_t export = {.target = &pto_export_ucc};
    pto_error_t err = {0};
    srand(2);
    make_tables(&export, RANKS_MAX, 4);
    assert_int_equal(write_file(&export, &err), PTO_ERR_TOO_LARGE);
    assert_non_null(strstr(err.message, "8191 bytes"));
}

TEST(a_line_of_the_greatest_length_is_read) {
    pto_export_t export = {.target = &pto_export_ucc};
    pto_error_t err = {0};
    make_tables(&export, 2, 1);
    export.table = back;
    for (int more = 0; more < 2; more++) {
        char line[PTO_UCC_LINE_MAX + 3];
        memset(line, '#', sizeof line);
        memcpy(line, "UCC_TL_NCCL_TUNE=inf", strlen("UCC_TL_NCCL_TUNE=inf"));
        snprintf(line + PTO_UCC_LINE_MAX + more, 2, "\n");
        write_text(path, line);
        pto_status_t status = pto_export_read(path, &export, &err);
        assert_int_equal(status, more ? PTO_ERR_TOO_LARGE : PTO_OK);
    }
}

/* What the file's text makes run a call of so many bytes, as portolan counts them, on `ranks` ranks of as
 * many nodes, or of one. */
static const struct {
    const char *text;
    bool one_node;
    int64_t ranks;
    const char *collective;
    int64_t bytes;
    const char *by; /* NULL: the library decides */
} cases[] = {
    /* Layer CUDA, whose own score is 40, only works within a node. */
    {"UCC_TL_NCCL_TUNE=0", false, 4, "allreduce", 8, "UCP"},
    {"UCC_TL_NCCL_TUNE=0", true, 4, "allreduce", 8, NULL},
    {"UCC_TL_UCP_TUNE=40", true, 4, "allreduce", 8, NULL},
    {"UCC_TL_UCP_TUNE=41", true, 4, "allreduce", 8, "UCP"},
    /* A size of the file is that of all ranks' blocks. */
    {"UCC_TL_NCCL_TUNE=allgather:0-9:inf#allgather:10-inf:0", false, 4, "allgather", 2, "NCCL"},
    {"UCC_TL_NCCL_TUNE=allgather:0-9:inf#allgather:10-inf:0", false, 4, "allgather", 3, "UCP"},
    {"UCC_TL_NCCL_TUNE=allgather:0-12:inf#allgather:12-inf:0", false, 4, "allgather", 3, "NCCL"},
    /* A size at which ranges meet: to the higher score, else to the upper one. */
    {"UCC_TL_NCCL_TUNE=0-64:100\nUCC_TL_UCP_TUNE=64-inf:50", false, 2, "bcast", 64, "NCCL"},
    {"UCC_TL_NCCL_TUNE=0-64:100\nUCC_TL_UCP_TUNE=64-inf:50", false, 2, "bcast", 65, "UCP"},
    {"UCC_TL_NCCL_TUNE=0-64:100\nUCC_TL_UCP_TUNE=64-inf:100", false, 2, "bcast", 64, "UCP"},
    {"UCC_TL_NCCL_TUNE=0-64:100\nUCC_TL_UCP_TUNE=64-inf:150", false, 2, "bcast", 64, "UCP"},
    {"UCC_TL_NCCL_TUNE=0-64:100\nUCC_TL_UCP_TUNE=64-inf:150", false, 2, "bcast", 63, "NCCL"},
    /* A score above INT32_MAX - 1 is infinite; an algorithm alone keeps the score. */
    {"UCC_TL_NCCL_TUNE=2147483646\nUCC_TL_UCP_TUNE=inf", false, 2, "reduce", 8, "UCP"},
    {"UCC_TL_NCCL_TUNE=allgatherv:@bcast\nUCC_TL_UCP_TUNE=19", false, 2, "allgatherv", 8, "NCCL"},
    {"UCC_TL_NCCL_TUNE=allgatherv:@bcast\nUCC_TL_UCP_TUNE=21", false, 2, "allgatherv", 8, "UCP"},
    /* A `;` only begins a comment behind a blank, and the last line need not end. */
    {"UCC_TL_NCCL_TUNE=bcast:inf ;#reduce:inf", false, 2, "reduce", 8, NULL},
    {"UCC_TL_NCCL_TUNE=bcast:inf\t; reduce\r\nUCC_TL_UCP_TUNE=reduce:inf", false, 2, "reduce", 8, "UCP"},
    {";UCC_TL_NCCL_TUNE=inf\n#UCC_TL_NCCL_TUNE=inf\n\n", false, 2, "reduce", 8, NULL},
};

TEST(layers_are_chosen_as_ucc_does) {
    pto_export_t export = {.target = &pto_export_ucc, .table = back, .table_count = 1};
    pto_error_t err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pto_export_collective_t *collective = export.target->collective;
        while (strcmp(collective->name, cases[i].collective) != 0)
            collective++;
        back[0] = (pto_export_table_t){.collective = collective,
                                       .nodes = cases[i].one_node ? 1 : cases[i].ranks,
                                       .ranks = cases[i].ranks};
        write_text(path, cases[i].text);
        assert_int_equal(pto_export_read(path, &export, &err), PTO_OK);
        const pto_export_rule_t *rule = pto_export_rule_at(&back[0], cases[i].bytes);
        const char *by = rule->algorithm ? rule->algorithm->name : NULL;
        if (!by != !cases[i].by || (by && strcmp(by, cases[i].by) != 0))
            fail_msg("%s: %s", cases[i].text, by ? by : "the library decides");
    }
}

TEST(a_semicolon_without_a_blank_is_part_of_a_value) {
    pto_export_t export = {.target = &pto_export_ucc, .table = back};
    pto_error_t err = {0};
    write_text(path, "UCC_TL_NCCL_TUNE=bcast:inf;#reduce:inf");
    assert_int_equal(pto_export_read(path, &export, &err), PTO_ERR_SYNTAX);
    assert_int_equal(err.line, 1);
    assert_int_equal(err.column, strlen("UCC_TL_NCCL_TUNE=bcast:") + 1);
}

/* Also where all of them are below one byte of each of many ranks. */
TEST(more_ranges_than_rules_are_refused) {
    pto_export_t export = {.target = &pto_export_ucc, .table = back, .table_count = 1};
    pto_error_t err = {0};
    char text[4096] = "UCC_TL_NCCL_TUNE=allgather:inf:0-1";
    for (int i = 1; i < PTO_EXPORT_RULES_MAX; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), ",%d-%d", 2 * i, 2 * i + 1);
    write_text(path, text);
    back[0] =
        (pto_export_table_t){.collective = &pto_export_ucc.collective[0], .nodes = 1000000, .ranks = 1000000};
    assert_string_equal(back[0].collective->name, "allgather");
    assert_int_equal(pto_export_read(path, &export, &err), PTO_ERR_RANGE);
    assert_non_null(strstr(err.message, "ranges"));
}

int main(void) { return run_all_tests(make_room, free_room); }
