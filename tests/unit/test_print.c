/* A rank's plan as text: the arithmetic of loops, the numbers when unrolled, and limits on the output. */
#include "must.h"
#include "portolan/check.h"
#include "portolan/strategy.h"
#include "test.h"

static pto_request_t ask(pto_collective_t collective, const char *strategy, const char *algorithm) {
    pto_request_t request = {.layout = {2, 3, 1, 1, 3, false},
                             .collective = collective,
                             .datatype = PTO_DATATYPE_FLOAT,
                             .bytes = 4096,
                             .messages = 9,
                             .by_library = true};
    carry_out_by(&request, strategy, algorithm);
    if (request.strategy->splits)
        request.layout.procs_per_gpu = 3;
    return request;
}

/* The text of one rank's plan, without the digest's line. */
static char *printed(pto_request_t request, int64_t rank, bool unroll) {
    char *text = NULL;
    pto_plan_t *plan = must_plan(&request);
    assert_int_equal(pto_print(plan, rank, unroll, &text, NULL), PTO_OK);
    char digest[64];
    snprintf(digest, sizeof digest, "  digest    %016llx\n", (unsigned long long)pto_plan_digest(plan));
    char *line = strstr(text, digest);
    assert_non_null(line);
    memmove(line, line + strlen(digest), strlen(line + strlen(digest)) + 1);
    return keep(text, free);
}

static void prints(pto_request_t request, int64_t rank, bool unroll, const char *wanted) {
    char *text = printed(request, rank, unroll);
    assert_string_equal(text, wanted);
}

static void mentions(pto_request_t request, int64_t rank, bool unroll, const char *wanted) {
    char *text = printed(request, rank, unroll);
    if (!strstr(text, wanted))
        fail_msg("no '%s' in\n%s", wanted, text);
}

/* --- whole texts ---------------------------------------------------------------------------------------- */

TEST(loops_are_printed_once_as_arithmetic) {
    prints(ask(PTO_COLLECTIVE_ALLTOALL, "three_step", "pairwise"), 4, false,
           "alltoall by three_step, with pairwise\n"
           "  layout    2 nodes x 3 GPUs x 1 processes = 6 ranks, 6 of them owners\n"
           "  bytes     4 KiB, to each destination\n"
           "\n"
           "rank 4: node 1, GPU 1, core 0, an owner\n"
           "  me            owner 4 of 6\n"
           "  in            gpu, 24 KiB in 6 blocks\n"
           "  out           gpu, 24 KiB in 6 blocks\n"
           "  host in       cpu, 24 KiB in 6 blocks\n"
           "  host out      cpu, 24 KiB in 6 blocks\n"
           "\n"
           "  copy to host\n"
           "    copy   24 KiB       in[all] -> host in[all]\n"
           "  alltoall of 6 owners by pairwise, as the MPI library's own\n"
           "    own block\n"
           "      copy   4 KiB        host in[block me] -> host out[block me]\n"
           "    for k = 1 .. 5\n"
           "      round, all at once\n"
           "        send   4 KiB        host in[block peer] -> owner (me + k) mod 6\n"
           "        recv   4 KiB        host out[block peer] <- owner (me - k) mod 6\n"
           "  copy to device\n"
           "    copy   24 KiB       host out[all] -> out[all]\n");
}

TEST(unrolled_loops_show_ranks_places_and_bytes) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise");
    request.layout = (pto_layout_t){3, 1, 1, 1, 1, false};
    request.bytes = 10;
    prints(request, 2, true,
           "alltoall by cuda_aware, with pairwise\n"
           "  layout    3 nodes x 1 GPUs x 1 processes = 3 ranks, 3 of them owners\n"
           "  bytes     10 B, to each destination\n"
           "\n"
           "rank 2: node 2, GPU 0, core 0, an owner\n"
           "  me            owner 2 of 3\n"
           "  in            gpu, 30 B in 3 blocks\n"
           "  out           gpu, 30 B in 3 blocks\n"
           "\n"
           "  alltoall of 3 owners by pairwise, as the MPI library's own\n"
           "    own block\n"
           "      copy   10 B         in[20..29] -> out[20..29]\n"
           "    k = 1\n"
           "      round, all at once\n"
           "        send   10 B         in[0..9] -> rank 0 (0 0 0)\n"
           "        recv   10 B         out[10..19] <- rank 1 (1 0 0)\n"
           "    k = 2\n"
           "      round, all at once\n"
           "        send   10 B         in[10..19] -> rank 1 (1 0 0)\n"
           "        recv   10 B         out[0..9] <- rank 0 (0 0 0)\n");
}

TEST(a_helper_sees_its_share_and_its_signals) {
    prints(ask(PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "linear"), 4, false,
           "alltoall by dup_devptr, with linear\n"
           "  layout    2 nodes x 3 GPUs x 3 processes = 18 ranks, 6 of them owners\n"
           "  bytes     4 KiB, to each destination\n"
           "  split     bytes\n"
           "\n"
           "rank 4: node 0, GPU 1, core 1, a helper\n"
           "  me            GPU 1 of 6, core 1 of 3\n"
           "  share         cpu, 8184 B: share 1 of 3 of 6 blocks\n"
           "  share out     cpu, 8184 B: share 1 of 3 of 6 blocks\n"
           "\n"
           "  input ready\n"
           "    wait   'input ready' of core 0\n"
           "  copy shares to host\n"
           "    copy   8184 B       the owner's in[all, share 1 of 3] -> share[all]\n"
           "  alltoall of 6 GPUs by linear, as the MPI library's own\n"
           "    own block\n"
           "      copy   1364 B       share[block me] -> share out[block me]\n"
           "    all messages, all at once\n"
           "      send   1364 B       share[block peer] -> GPUs (me + d) mod 6 for d = 1 .. 5\n"
           "      recv   1364 B       share out[block peer] <- GPUs (me - d) mod 6 for d = 1 .. 5\n"
           "  copy shares to device\n"
           "    copy   8184 B       share out[all] -> the owner's out[all, share 1 of 3]\n"
           "  output written\n"
           "    signal 'output written' to core 0\n");
}

/* --- phrases -------------------------------------------------------------------------------------------- */

TEST(steps_of_some_iterations_say_which) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "binomial");
    mentions(request, 2, false, "send   4 KiB        out[all] -> owner (me - 2^k) mod 6   only k = 1\n");
    mentions(request, 2, false, "recv   4 KiB        out[all] <- owner (me - 4/2^k) mod 6   only k = 1\n");
    mentions(request, 0, false, "send   4 KiB        out[all] -> owner (me + 4/2^k) mod 6\n");
}

TEST(rotations_runs_and_parts_are_named) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "bruck");
    mentions(request, 1, false, "in[6 blocks from me] -> travelling[all]");
    mentions(request, 1, false,
             "travelling[runs of 2^k blocks from 2^k, one every 2*2^k] -> owner (me + 2^k) mod 6");
    mentions(request, 1, false, "travelling[all] -> out[6 blocks from me, downwards]");
    request = ask(PTO_COLLECTIVE_ALLREDUCE, "cuda_aware", "ring");
    mentions(request, 1, false, "send   680 B .. 684 B out[part me - k of 6] -> owner (me + 1) mod 6");
    mentions(request, 1, false, "recv   680 B .. 684 B out[part me - k of 6] <- owner (me - 1) mod 6");
    request = ask(PTO_COLLECTIVE_ALLREDUCE, "extra_message", "rabenseifner");
    mentions(request, 4, false, "share[2/2^k parts around bit-reversed peer of 4] -> GPU left me xor 2^k");
    mentions(request, 4, false, "GPU left 0 of 4");
    mentions(request, 4, false, "  copy to host: nothing\n");
    mentions(request, 3, false, "the peer's share of 3] -> cores 1 .. 2");
}

TEST(bundles_places_and_their_memory_are_named) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "node_leaders", "pairwise");
    mentions(request, 4, false, "  me            owner 4 of 6, place 1 of 3\n");
    mentions(request, 4, false,
             "in[all] -> place 0's gathered[bundles from me, one every 3, of 3 blocks each]");
    mentions(request, 3, false, "alltoall of 2 nodes by pairwise");
    mentions(request, 3, false,
             "send   36 KiB       gathered[bundle peer, of 9 blocks each] -> node (me + k) mod 2");
    request = ask(PTO_COLLECTIVE_ALLTOALL, "node_aware", "bruck");
    mentions(request, 4, false,
             "copy   8 KiB        in[blocks from peer, one every 3] -> place (me + k) mod 3's handed "
             "over[blocks from me, one every 3]");
    mentions(request, 4, false, "handed over[2 bundles from me, of 3 blocks each] -> travelling[all]");
}

TEST(dealt_destinations_and_messages_are_named) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "extra_message", "linear");
    request.split = PTO_SPLIT_DESTINATIONS;
    mentions(request, 3, false, "host in[blocks from holder + peer, one every 3] -> cores 1 .. 2");
    mentions(request, 4, false, "share         cpu, 8 KiB: one in 3 of 6 blocks");
    mentions(request, 4, false, "GPUs (me + d) mod 6 for d = 1 .. 5, one every 3");
    request = ask(PTO_COLLECTIVE_MESSAGES, "cuda_aware", "point_to_point");
    request.unique_bytes = 8192;
    mentions(request, 2, false, "4 KiB, each message, 9 from each owner, of which 8 KiB differ");
    mentions(request, 2, false, "in[block j] -> owner (me + j) mod 3 of the next node for j = 0 .. 8");
    for (int64_t processes = 2; processes <= 3; processes++) {
        request = ask(PTO_COLLECTIVE_MESSAGES, "dup_devptr", "point_to_point");
        request.split = PTO_SPLIT_DESTINATIONS;
        request.layout.procs_per_gpu = processes;
        mentions(request, processes - 1, false,
                 processes == 2 ? "of the next node for j = 1 .. 8, one every 2"
                                : "of the next node for j = 2 .. 8, one every 3");
    }
}

TEST(skewed_counts_show_their_range) {
    pto_counts_t counts = {.kind = PTO_COUNTS_SKEW, .skew = 0.5, .seed = 7};
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALLV, "cuda_aware", "linear");
    request.counts = &counts;
    request.bytes = 100;
    mentions(request, 2, false, "100 B, to each destination, within 50 percent (seed 7)");
    mentions(request, 2, true, "rank 3 (1 0 0)");
}

/* --- bounds --------------------------------------------------------------------------------------------- */

TEST(a_million_gpus_make_a_short_text) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    request.layout.nodes = 333334;
    mentions(request, 7, true, "      ... and 999995 more\n");
    request.algorithm = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "pairwise").algorithm;
    mentions(request, 7, false, "for k = 1 .. 1000001\n");
    mentions(request, 7, true, "    ... and 999937 more iterations\n");
    for (int unroll = 0; unroll < 2; unroll++) {
        char *text = printed(request, 7, unroll);
        assert_true(strlen(text) < 20000);
    }
}

TEST(many_byte_ranges_are_cut) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "dup_devptr", "linear");
    mentions(request, 4, true, "the owner's in[1368..2731, 5464..6827, 9560..10923, ... and 3 more ranges]");
}

TEST(a_rank_that_is_not_there_is_refused) {
    pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", "linear");
    pto_error_t err;
    char *text = NULL;
    pto_plan_t *plan = must_plan(&request);
    assert_int_equal(pto_print(plan, 6, false, &text, &err), PTO_ERR_RANGE);
    assert_string_equal(err.message, "there is no rank 6, only 0 to 5");
    assert_int_equal(pto_print(plan, -1, false, &text, NULL), PTO_ERR_RANGE);
    assert_null(text);
}

/* Each message once as a send and once as a receive, and what a statement requires comes before it. */
TEST(a_goal_schedule_has_every_message_once) {
    static const char *const algorithms[] = {"pairwise", "bruck", "linear"};
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        pto_request_t request = ask(PTO_COLLECTIVE_ALLTOALL, "cuda_aware", algorithms[i]);
        char *text = NULL;
        size_t size = 0;
        FILE *stream = open_memstream(&text, &size);
        assert_non_null(stream);
        pto_plan_t *plan = must_plan(&request);
        assert_int_equal(pto_print_goal(plan, stream, NULL), PTO_OK);
        fclose(stream);
        int64_t sends = 0, receives = 0, ranks = 0;
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
            long long own = 0, other = 0;
            sends += strstr(line, ": send ") != NULL;
            receives += strstr(line, ": recv ") != NULL;
            ranks += strncmp(line, "rank ", 5) == 0;
            if (sscanf(line, "l%lld requires l%lld", &own, &other) == 2)
                assert_true(other < own);
        }
        assert_int_equal(sends, pto_plan_size(plan).messages);
        assert_int_equal(receives, sends);
        assert_int_equal(ranks, 6);
        free(text);
    }
}
