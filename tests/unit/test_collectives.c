/* collectives.csv: what is read, what is rejected, and at which position. */
#include "bad_input.h"
#include "portolan/samples.h"
#include "test.h"

#define HEADER "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds\n"
#define ROW "alltoall,library,three_step,2,4,1,1024,1,5.1e-05\n"

static pto_status_t parse(const char *text, const char *path, pto_collectives_t *collectives,
                          pto_error_t *err) {
    return pto_collectives_parse(text, strlen(text), path, collectives, err);
}

TEST(rows_and_provenance_are_read) {
    pto_collectives_t collectives = {0};
    pto_error_t err;
    assert_int_equal(parse("# machine=x\n# datatype=double\n" HEADER ROW
                           "alltoallv,isend_irecv,dup_devptr,8,6,6,0,0,1\n" ROW,
                           "a.csv", &collectives, &err),
                     PTO_OK);
    assert_int_equal(collectives.count, 3);
    assert_int_equal(collectives.name_count, 2);
    const pto_collective_row_t *row = collectives.row;
    assert_int_equal(row[0].collective, PTO_COLLECTIVE_ALLTOALL);
    assert_int_equal(row[0].implementation, PTO_IMPLEMENTATION_LIBRARY);
    assert_int_equal(row[0].datatype, PTO_DATATYPE_DOUBLE);
    assert_string_equal(collectives.name[row[0].strategy], "three_step");
    assert_true(row[0].nodes == 2 && row[0].gpus_per_node == 4 && row[0].procs_per_gpu == 1);
    assert_true(row[0].owners_per_gpu == 1 && row[0].algorithm == -1 && row[0].bytes == 1024);
    assert_true(row[0].run == 1 && row[0].seconds == 5.1e-5);
    assert_int_equal(row[1].implementation, PTO_IMPLEMENTATION_ISEND_IRECV);
    assert_int_equal(row[1].procs_per_gpu, 6);
    assert_string_equal(pto_collectives_provenance(&collectives, "machine"), "x");
    assert_null(pto_collectives_provenance(&collectives, "mpi"));
    pto_collectives_fini(&collectives);
}

TEST(quoted_fields_and_a_byte_order_mark_are_read) {
    pto_collectives_t collectives = {0};
    assert_int_equal(parse("\xEF\xBB\xBF" HEADER
                           "\"alltoall\",library,\"three_step\",2,4,1,\"1024\",1,5.1e-05\n",
                           "a.csv", &collectives, NULL),
                     PTO_OK);
    assert_int_equal(collectives.count, 1);
    assert_string_equal(collectives.name[collectives.row[0].strategy], "three_step");
    assert_int_equal(collectives.row[0].bytes, 1024);
    pto_collectives_fini(&collectives);
}

TEST(joules_can_follow_seconds) {
    const char *text = "collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,"
                       "seconds,joules\n"
                       "alltoall,library,three_step,2,4,1,8,1,1e-5,0.25\n"
                       "alltoall,library,three_step,2,4,1,8,2,1e-5,\n";
    pto_collectives_t collectives = {0};
    assert_int_equal(pto_collectives_parse(text, strlen(text), "joules.csv", &collectives, NULL), PTO_OK);
    assert_true(collectives.row[0].joules == 0.25 && collectives.row[1].joules == 0);
    pto_collectives_fini(&collectives);
}

TEST(further_columns_say_owners_and_algorithm) {
    pto_collectives_t collectives = {0};
    const char *text = "algorithm,collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,"
                       "owners_per_gpu,bytes,run,seconds\n"
                       "bruck,alltoall,library,cuda_aware,2,4,3,3,8,1,1\n"
                       ",alltoall,library,cuda_aware,2,4,3,3,8,1,1\n";
    assert_int_equal(parse(text, "a.csv", &collectives, NULL), PTO_OK);
    assert_int_equal(collectives.row[0].owners_per_gpu, 3);
    assert_string_equal(collectives.name[collectives.row[0].algorithm], "bruck");
    assert_int_equal(collectives.row[1].algorithm, -1);
    assert_int_equal(collectives.row[1].datatype, PTO_DATATYPE_FLOAT);
    pto_collectives_fini(&collectives);
}

TEST(bad_input_is_rejected_at_its_position_and_adds_nothing) {
    static const bad_input_t bad[] = {
        BAD("", PTO_ERR_SYNTAX, 1, 1, "column names"),
        BAD("collective,implementation\n", PTO_ERR_KEY, 1, 1, "strategy", "missing"),
        BAD("collective,speed\n", PTO_ERR_KEY, 1, 12, "unknown column", "speed"),
        BAD(HEADER "alltoal,library,three_step,2,4,1,8,1,1\n", PTO_ERR_TYPE, 2, 1, "collective", "alltoal"),
        BAD(HEADER "alltoall,pairwise,three_step,2,4,1,8,1,1\n", PTO_ERR_TYPE, 2, 10, "isend_irecv"),
        BAD(HEADER "alltoall,library,,2,4,1,8,1,1\n", PTO_ERR_TYPE, 2, 18, "strategy"),
        BAD(HEADER "alltoall,library,three_step,0,4,1,8,1,1\n", PTO_ERR_RANGE, 2, 29, "nodes"),
        BAD(HEADER "alltoall,library,three_step,2,4,1,-8,1,1\n", PTO_ERR_RANGE, 2, 35, "bytes"),
        BAD(HEADER ROW "alltoall,library,three_step,2,4,1,8,1,0\n", PTO_ERR_RANGE, 3, 39, "positive"),
        BAD(HEADER "alltoall,library,three_step,2,4,1,8\n", PTO_ERR_SYNTAX, 2, 36, "ends before", "run"),
        BAD(HEADER "alltoall,library,three_step,2,4,1,8,1,1,1\n", PTO_ERR_SYNTAX, 2, 41, "more than 9"),
        BAD("collective,implementation,strategy,nodes,gpus_per_node,procs_per_gpu,bytes,run,seconds,joules\n"
            "alltoall,library,three_step,2,4,1,8,1,1e-5,-1\n",
            PTO_ERR_RANGE, 2, 44, "a finite, positive energy"),
        BAD("# datatype=quarter\n" HEADER ROW, PTO_ERR_TYPE, 1, 1, "datatype", "quarter"),
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pto_collectives_t collectives = {0};
        pto_error_t err = {.status = PTO_OK};
        pto_status_t status = parse(bad[i].text, "bad.csv", &collectives, &err);
        assert_refused(&bad[i], status, &err);
        assert_string_equal(err.file, "bad.csv");
        assert_int_equal(collectives.count, 0);
        assert_int_equal(collectives.name_count, 0);
        assert_int_equal(collectives.provenance_count, 0);
        assert_int_equal(collectives.file_count, 0);
        pto_collectives_fini(&collectives);
    }
}

TEST(files_of_one_machine_add_up_and_others_are_refused) {
    pto_collectives_t collectives = {0};
    pto_error_t err;
    assert_int_equal(parse("# machine=A\n" HEADER ROW, "1.csv", &collectives, &err), PTO_OK);
    assert_int_equal(parse("# machine=A\n# datatype=int32\n" HEADER ROW, "2.csv", &collectives, &err),
                     PTO_OK);
    assert_int_equal(collectives.row[0].datatype, PTO_DATATYPE_FLOAT);
    assert_int_equal(collectives.row[1].datatype, PTO_DATATYPE_INT32);
    assert_int_equal(collectives.row[1].file, 1);
    assert_int_equal(parse("# machine=B\n" HEADER ROW, "3.csv", &collectives, &err), PTO_ERR_NOT_APPLICABLE);
    assert_non_null(strstr(err.message, "score them apart"));
    assert_int_equal(collectives.count, 2);
    assert_int_equal(collectives.file_count, 2);
    pto_collectives_fini(&collectives);
}

TEST(too_many_names_are_refused) {
    pto_collectives_t collectives = {0};
    pto_error_t err = {0};
    pto_status_t status = PTO_OK;
    for (int i = 0; i <= PTO_COLLECTIVES_NAME_MAX; i++) {
        char text[256];
        assert_int_equal(status, PTO_OK);
        snprintf(text, sizeof text, HEADER "alltoall,library,s%d,2,4,1,8,1,1\n", i);
        status = parse(text, "a.csv", &collectives, &err);
    }
    assert_int_equal(status, PTO_ERR_TOO_LARGE);
    assert_int_equal(collectives.count, PTO_COLLECTIVES_NAME_MAX);
    pto_collectives_fini(&collectives);
}

TEST(a_file_that_is_not_there_is_an_error_with_its_name) {
    pto_collectives_t collectives = {0};
    pto_error_t err;
    assert_int_equal(pto_collectives_read("tests/fixtures/no-such.csv", &collectives, &err), PTO_ERR_IO);
    assert_string_equal(err.file, "tests/fixtures/no-such.csv");
    pto_collectives_fini(&collectives);
}
