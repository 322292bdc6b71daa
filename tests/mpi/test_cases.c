/* Which cases portolan-calibrate's benchmarks have in random made-up jobs, whose ranks lie anywhere: every
 * list is compared with what its documentation says of the places of processes and GPUs. And what a samples
 * file says of the job. Needs no mpirun. */
#include <unistd.h>

#include "../../calibrate/benchmark.h"
#include "../../calibrate/pairs.h"
#include "../../calibrate/samples.h"
#include "../chance.h"
#include "nccl/nccl_dl.h"
#include "test.h"

enum { PROCESSES_MAX = 18, JOBS = 300, COUNTS_MAX = 32 };

static job_t job;
static process_t process[PROCESSES_MAX];
/* 1 to 3 nodes with 1 to 6 processes, in any order; 1 to 4 GPUs, of which some cannot reach others. A few
 * have one node with as many GPUs as there may be, which all reach each other. */
static void make_job(uint64_t seed) {
    chance_state = seed * 977;
    bool is_large = seed % 20 == 0;
    job = (job_t){.world = MPI_COMM_SELF, .process = process, .node_count = 1 + draw(3), .cuda_aware = true};
    job.sockets = 2;
    job.cores = 8;
    job.gpu_blocks = 16;
    job.node_count = is_large ? 1 : job.node_count;
    job.device_count = is_large ? GPU_COUNT_MAX : 1 + draw(4);
    for (int device = 0; device < job.device_count; device++) {
        job.device_socket[device] = draw(10) == 0 ? -1 : draw(2);
        for (int other = 0; other < job.device_count; other++)
            job.reach[device][other] = device == other || is_large || draw(4) > 0;
    }
    int on_node[3] = {0}, per_node = is_large ? PROCESSES_MAX : 1 + draw(6);
    job.size = job.node_count * per_node;
    for (int rank = 0; rank < job.size; rank++) {
        process_t *own = &process[rank];
        int node = draw(job.node_count);
        while (on_node[node] == per_node)
            node = (node + 1) % job.node_count;
        *own = (process_t){.node = node, .node_rank = on_node[node]++, .socket = draw(2)};
        own->device = own->node_rank % job.device_count;
        own->gpu_socket = job.device_socket[own->device];
        snprintf(own->bus, sizeof own->bus, "0000:%02d", own->device);
    }
}

/* --- what is said of places ----------------------------------------------------------------------------- */

static bool is_near(int a, int b) { return process[a].node == process[b].node; }

/* Whether a process is on rank 0's node. */
static bool is_first(int rank) { return is_near(0, rank); }

static const char *level_of(const char *space, int a, int b) {
    const process_t *one = &process[a], *other = &process[b];
    if (one->node != other->node)
        return "off_node";
    if (strcmp(space, "gpu") == 0)
        return one->device == other->device           ? "on_gpu"
               : one->gpu_socket == other->gpu_socket ? "on_socket"
                                                      : "on_node";
    return one->socket == other->socket ? "on_socket" : "on_node";
}

/* Where one of the two is not known, they count as near. */
static bool shares_socket(int rank, int device) {
    return job.device_socket[device] < 0 || job.device_socket[device] == process[rank].socket;
}

static bool gpus_share(int one, int other) {
    return job.device_socket[one] < 0 || job.device_socket[other] < 0 ||
           job.device_socket[one] == job.device_socket[other];
}

static bool is(const case_t *what, const char *name) { return strcmp(what->benchmark, name) == 0; }

static void end_cases(void *list) { case_list_fini(list); }

/* Until the test ends. */
static case_list_t cases_of(const char *name) {
    case_list_t list = {0};
    for (int i = 0; i < benchmark_count; i++)
        if (strcmp(benchmark_registry[i]->name, name) == 0)
            case_list_fill(benchmark_registry[i], &job, &list);
    assert_true(list.case_count + list.skip_count > 0);
    for (int i = 0; i < list.case_count; i++)
        for (int m = 0; m < list.cases[i].member_count; m++) {
            int rank = list.cases[i].member[m];
            assert_true(rank >= 0 && rank < job.size);
            for (int other = 0; other < m; other++)
                assert_int_not_equal(list.cases[i].member[other], rank);
        }
    keep_owned(&list, sizeof list, end_cases);
    return list;
}

/* The numbers that are worth a case are those of next_count, up to the most. */
static void must_count(const int *found, int count, int most) {
    int wanted = most > 0 ? 1 : 0;
    for (int i = 0; i < count; i++, wanted = next_count(wanted, most))
        assert_int_equal(found[i], wanted);
    assert_int_equal(wanted, 0);
}

/* --- the lists ------------------------------------------------------------------------------------------ */

/* Pairs of a level: each process is in one at most, and no two that are left are at that level. */
static void check_pairs(const case_list_t *list, const char *name, const char *space, const char *level) {
    bool used[PROCESSES_MAX] = {false};
    int count = 0;
    for (int i = 0; i < list->case_count; i++) {
        const case_t *what = &list->cases[i];
        if (!is(what, name) || strcmp(what->space, space) != 0 || strcmp(what->level, level) != 0)
            continue;
        int a = what->member[0], b = what->member[1];
        assert_true(what->member_count == 2 && a < b && !used[a] && !used[b]);
        assert_string_equal(level_of(space, a, b), level);
        used[a] = used[b] = true;
        count++;
    }
    assert_true(count <= PAIRS_MAX);
    for (int a = 0; a < job.size && count < PAIRS_MAX; a++)
        for (int b = a + 1; b < job.size; b++)
            assert_true(used[a] || used[b] || strcmp(level_of(space, a, b), level) != 0);
}

TEST(messages_go_between_pairs_of_their_level) {
    static const char *const levels[] = {"on_gpu", "on_socket", "on_node", "off_node"};
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        for (int which = 0; which < 2 && job.size > 1; which++) {
            const char *name = which ? "exchange" : "ping_pong";
            case_list_t list = cases_of(name);
            for (int level = 0; level < 4; level++) {
                check_pairs(&list, name, "gpu", levels[level]);
                if (level > 0)
                    check_pairs(&list, name, "cpu", levels[level]);
            }
        }
        case_list_t list = cases_of("signal_flag");
        check_pairs(&list, "signal_flag", "cpu", "on_socket");
        check_pairs(&list, "signal_flag", "cpu", "on_node");
    }
}

/* Two GPUs of a node, each of which reaches the other's memory. */
TEST(processes_reach_each_others_gpus) {
    static const char *const names[] = {"memcpy_peer", "signal_device", "remote"};
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        for (int which = 0; which < 3; which++) {
            case_list_t list = cases_of(names[which]);
            int first = -1;
            for (int i = 0; i < list.case_count; i++) {
                const case_t *what = &list.cases[i];
                const process_t *a = &process[what->member[0]], *b = &process[what->member[1]];
                assert_true(what->member_count == 2 && a->node == b->node && a->device != b->device);
                assert_true(job.reach[a->device][b->device] && job.reach[b->device][a->device]);
                assert_string_equal(what->level, a->gpu_socket == b->gpu_socket ? "on_socket" : "off_socket");
                /* All widths and numbers of blocks are of the first pair of a level, which comes first. */
                if (i == 0 || strcmp(what->level, list.cases[i - 1].level) != 0)
                    first = what->member[0];
                assert_true(which != 2 || what->member[0] == first || what->procs == job.gpu_blocks);
                assert_true(which != 2 || what->member[0] == first || strstr(what->benchmark, "_16"));
            }
        }
    }
}

/* Of every GPU: its own process if that is so placed, or else the first of the node that is. */
static int copier_of(int device, bool near) {
    int wanted = -1;
    for (int rank = job.size - 1; rank >= 0; rank--)
        if (is_first(rank) && shares_socket(rank, device) == near &&
            (wanted < 0 || process[wanted].device != device || process[rank].device == device))
            wanted = rank;
    return wanted;
}

/* The member of a copy's case; -1: there is none. */
static int member_of(const case_list_t *list, const char *name, const char *level, const char *pair) {
    for (int i = 0; i < list->case_count; i++)
        if (is(&list->cases[i], name) && strcmp(list->cases[i].pair, pair) == 0 &&
            strcmp(list->cases[i].level, level) == 0)
            return list->cases[i].member[0];
    return -1;
}

TEST(copies_are_by_a_process_of_the_node) {
    static const char *const names[] = {"memcpy_h2d", "memcpy_d2h", "memcpy_pageable_h2d",
                                        "memcpy_pageable_d2h"};
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        case_list_t list = cases_of("memcpy");
        for (int way = 0; way < 4; way++) {
            int left[2] = {PAIRS_MAX, PAIRS_MAX}; /* the first of each level */
            for (int device = 0; device < job.device_count; device++)
                for (int near = 0; near < 2; near++) {
                    int copier = copier_of(device, near == 1);
                    char pair[CASE_PAIR_MAX];
                    snprintf(pair, sizeof pair, "%d-%d", copier, device);
                    int wanted = copier >= 0 && left[near]-- > 0 ? copier : -1;
                    assert_int_equal(member_of(&list, names[way], near ? "on_socket" : "off_socket", pair),
                                     wanted);
                }
        }
    }
}

/* Every two GPUs of the node, by their sockets. */
TEST(copies_between_gpus_are_of_all_pairs) {
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        case_list_t list = cases_of("memcpy");
        int pairs[2] = {0}, most[2] = {0};
        for (int i = 0; i < list.case_count; i++) {
            int rank, one, other;
            if (!is(&list.cases[i], "memcpy_d2d"))
                continue;
            assert_int_equal(sscanf(list.cases[i].pair, "%d:%d-%d", &rank, &one, &other), 3);
            assert_string_equal(list.cases[i].level, gpus_share(one, other) ? "on_socket" : "off_socket");
            assert_true(is_first(rank) && one < other && rank == list.cases[i].member[0]);
            pairs[gpus_share(one, other)]++;
        }
        for (int one = 0; one < job.device_count; one++)
            for (int other = 0; other < one; other++)
                most[gpus_share(one, other)]++;
        for (int near = 0; near < 2; near++)
            assert_int_equal(pairs[near], most[near] < PAIRS_MAX ? most[near] : PAIRS_MAX);
    }
}

/* Numbers of processes for each GPU that all have; of them, each GPU's. */
TEST(processes_share_every_gpu_of_the_node) {
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        int on_device[GPU_COUNT_MAX] = {0}, most = PROCESSES_MAX, counts[COUNTS_MAX], count = 0;
        for (int rank = 0; rank < job.size; rank++)
            on_device[process[rank].device] += is_first(rank);
        for (int device = 0; device < job.device_count; device++)
            most = on_device[device] < most ? on_device[device] : most;
        case_list_t list = cases_of("memcpy_shared");
        for (int i = 0; i < list.case_count; i++) {
            const case_t *what = &list.cases[i];
            int of_device[GPU_COUNT_MAX] = {0};
            bool near = true;
            for (int m = 0; m < what->member_count; m++) {
                int rank = what->member[m];
                assert_true(is_first(rank));
                of_device[process[rank].device]++;
                near = near && shares_socket(rank, process[rank].device);
            }
            for (int device = 0; device < job.device_count; device++)
                assert_int_equal(of_device[device], what->procs);
            assert_string_equal(what->level, near ? "on_socket" : "off_socket");
            if (is(what, "memcpy_shared_h2d"))
                counts[count++] = what->procs;
        }
        must_count(counts, count, most);
    }
}

/* Of the processes of rank 0's node that reach its GPU. */
TEST(memory_is_opened_by_those_that_reach_it) {
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        int owner = job.size, reaching = 0, beside = 0, counts[COUNTS_MAX], count = 0;
        for (int rank = job.size - 1; rank >= 0; rank--)
            owner = process[rank].node == 0 && process[rank].node_rank == 0 ? rank : owner;
        for (int rank = 0; rank < job.size; rank++) {
            bool here = process[rank].node == 0;
            beside += here;
            reaching += here && rank != owner && job.reach[process[rank].device][process[owner].device];
        }
        case_list_t list = cases_of("setup");
        for (int i = 0; i < list.case_count; i++) {
            const case_t *what = &list.cases[i];
            for (int m = 0; m < what->member_count; m++)
                assert_int_equal(process[what->member[m]].node, 0);
            if (is(what, "setup_open")) {
                counts[count++] = what->procs;
                assert_true(what->member_count == what->procs + 1 && what->member[0] == owner);
                for (int m = 1; m < what->member_count; m++)
                    assert_true(job.reach[process[what->member[m]].device][process[owner].device]);
            }
            assert_true(!is(what, "setup_segment") || (what->member_count == beside && beside > 1));
        }
        must_count(counts, count, reaching);
    }
}

/* As many senders as both nodes have; in GPU memory, each with a GPU of its own. */
TEST(a_node_sends_to_the_next) {
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        int per_node = job.size / job.node_count,
            per_gpu = per_node < job.device_count ? per_node : job.device_count;
        case_list_t list = cases_of("injection");
        int counts[2][COUNTS_MAX], count[2] = {0};
        for (int i = 0; i < list.case_count; i++) {
            const case_t *what = &list.cases[i];
            int on_gpu = strcmp(what->space, "gpu") == 0;
            assert_int_equal(what->member_count, 2 * what->procs);
            for (int m = 0; m < what->member_count; m++) {
                assert_int_equal(process[what->member[m]].node, m < what->procs ? 0 : 1);
                for (int other = m < what->procs ? 0 : what->procs; on_gpu && other < m; other++)
                    assert_int_not_equal(process[what->member[m]].device,
                                         process[what->member[other]].device);
            }
            counts[on_gpu][count[on_gpu]++] = what->procs;
        }
        must_count(counts[0], count[0], job.node_count > 1 ? per_node : 0);
        must_count(counts[1], count[1], job.node_count > 1 ? per_gpu : 0);
    }
}

/* From rank 0 to distinct processes of a level; in GPU memory, to distinct GPUs. */
TEST(messages_go_to_many_of_a_level) {
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        case_list_t list = cases_of("multi_message");
        for (int i = 0; i < list.case_count; i++) {
            const case_t *what = &list.cases[i];
            bool many = is(what, "multi_message"), on_gpu = strcmp(what->space, "gpu") == 0;
            assert_int_equal(what->member[0], 0);
            assert_int_equal(what->member_count, many ? what->messages + 1 : 2);
            for (int m = 1; m < what->member_count; m++) {
                assert_string_equal(level_of(what->space, 0, what->member[m]), what->level);
                for (int other = 1; on_gpu && other < m; other++)
                    assert_true(!is_near(what->member[m], what->member[other]) ||
                                process[what->member[m]].device != process[what->member[other]].device);
            }
        }
        for (int rank = 1; rank < job.size; rank++) { /* no level is left out */
            int found = 0;
            for (int i = 0; i < list.case_count; i++)
                found += strcmp(list.cases[i].space, "cpu") == 0 &&
                         strcmp(list.cases[i].level, level_of("cpu", 0, rank)) == 0;
            assert_true(found > 0);
        }
    }
}

/* Within a socket, or each from a process of the other. */
TEST(host_memory_is_copied_on_a_socket_and_between_two) {
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        int on_socket[2] = {0}, here = process[0].socket, counts[2][COUNTS_MAX], count[2] = {0};
        for (int rank = 0; rank < job.size; rank++)
            on_socket[process[rank].socket] += is_first(rank);
        int there = on_socket[1 - here] < on_socket[here] ? on_socket[1 - here] : on_socket[here];
        case_list_t list = cases_of("memcpy_h2h");
        for (int i = 0; i < list.case_count; i++) {
            const case_t *what = &list.cases[i];
            int near = strcmp(what->level, "on_socket") == 0;
            assert_int_equal(what->member_count, (near ? 1 : 2) * what->procs);
            for (int m = 0; m < what->member_count; m++) {
                assert_true(is_first(what->member[m]));
                assert_int_equal(process[what->member[m]].socket, m < what->procs ? here : 1 - here);
            }
            counts[near][count[near]++] = what->procs;
        }
        must_count(counts[1], count[1], on_socket[here]);
        must_count(counts[0], count[0], there);
    }
}

/* They are the first GPUs of the node: the largest case has all up to the first one without a process, or
 * that does not reach those before it. */
TEST(gpus_store_to_all_that_reach_each_other) {
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        int most = 0;
        for (bool reach = true; reach && most < job.device_count; most += reach) {
            int processes = 0;
            for (int rank = 0; rank < job.size; rank++)
                processes += is_first(rank) && process[rank].device == most;
            reach = processes > 0;
            for (int other = 0; other < most; other++)
                reach = reach && job.reach[most][other] && job.reach[other][most];
        }
        case_list_t list = cases_of("remote_all");
        int largest = 0;
        for (int i = 0; i < list.case_count; i++) {
            const case_t *what = &list.cases[i];
            bool near = true;
            assert_int_equal(what->member_count, what->procs);
            for (int m = 0; m < what->member_count; m++) {
                assert_true(is_first(what->member[m]) && process[what->member[m]].device == m);
                near = near && job_devices_share_socket(&job, m, 0);
            }
            assert_string_equal(what->level, near ? "on_socket" : "off_socket");
            largest = what->procs > largest ? what->procs : largest;
        }
        assert_int_equal(largest, most < 2 ? 0 : most);
    }
}

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): a name of the linker's --wrap */
pto_status_t __wrap_pto_nccl_library(const pto_nccl_library_t **library, pto_error_t *err) {
    static const pto_nccl_library_t made = {.version = "1.2.3"};
    *library = &made;
    return PTO_OK;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* Of a job without other processes. */
int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    memcpy(all, mine, (size_t)count * sizeof(int));
    return MPI_SUCCESS;
}

/* Whether a case has as many GPUs on each of the first nodes, each with the first process that drives it. */
static void check_nccl_case(const case_t *what, int nodes, int gpus) {
    assert_int_equal(what->member_count, nodes * gpus);
    assert_int_equal(what->procs, nodes * gpus);
    assert_int_equal(what->messages, nodes);
    assert_true(what->every_size);
    for (int m = 0; m < what->member_count; m++) {
        int rank = what->member[m];
        assert_int_equal(process[rank].node, m / gpus);
        for (int other = 0; other < rank; other++)
            assert_true(!is_near(other, rank) || process[other].device != process[rank].device);
    }
}

/* On one node, two GPUs and more; on several, one of each or all that each of the job's nodes uses. */
TEST(nccl_is_of_as_many_gpus_on_each_node) {
    enum { COLLECTIVES = 7 };
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        make_job(seed);
        int most = GPU_COUNT_MAX;
        for (int node = 0; node < job.node_count; node++) {
            int in_use = 0;
            for (int device = 0; device < job.device_count; device++) {
                bool is_used = false;
                for (int rank = 0; rank < job.size; rank++)
                    is_used = is_used || (process[rank].node == node && process[rank].device == device);
                in_use += is_used;
            }
            most = in_use < most ? in_use : most;
        }
        case_list_t list = cases_of("nccl");
        int at = 0;
        for (int nodes = 1; nodes != 0 && most * job.node_count > 1;
             nodes = next_count(nodes, job.node_count))
            for (int gpus = nodes > 1 ? 1 : 2; gpus != 0 && gpus <= most; gpus = nodes == 1
                                                                                     ? next_count(gpus, most)
                                                                                 : gpus < most ? most
                                                                                               : 0)
                for (int k = 0; k < COLLECTIVES; k++, at++) {
                    assert_true(at < list.case_count);
                    if (list.cases != NULL) /* for the checkers */
                        check_nccl_case(&list.cases[at], nodes, gpus);
                }
        assert_int_equal(at, list.case_count);
    }
}

/* --- the samples file ----------------------------------------------------------------------------------- */

static char text[1 << 14];

static void must_say(const char *format, ...) {
    char wanted[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(wanted + 1, sizeof wanted - 2, format, arguments);
    va_end(arguments);
    wanted[0] = wanted[length + 1] = '\n';
    wanted[length + 2] = '\0';
    if (strstr(text, wanted) == NULL)
        fail_msg("missing:%s", wanted);
}

/* As MPICH 4.0.2 names itself. */
int MPI_Get_library_version(char *version, int *length) {
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING,
                       "MPICH Version:\t4.0.2\nMPICH Device:\tch4:ucx\nMPICH configure:\t--prefix=/usr "
                       "FFLAGS=-O2\nMPICH CC:\tgcc -O2\n");
    return MPI_SUCCESS;
}

/* Of which the last rank may be missing, so that nodes have different numbers. */
TEST(a_samples_file_tells_the_job) {
    static char *argv[] = {"/some/where/portolan-calibrate", "--budget", "3"};
    for (uint64_t seed = 1; seed <= JOBS; seed++) {
        pto_calibrate_options_t options = {.budget_s = 2.5, .repeats = 17, .exhaustive = draw(2) == 1};
        char path[64], layout[32];
        make_job(seed);
        job.size -= draw(2);
        job.bound_here = draw(2) == 1;
        job.runs = draw(2) == 1 ? PTO_RUNS_GRAPH : PTO_RUNS_WAITED;
        snprintf(job.cpu, sizeof job.cpu, "some CPU");
        snprintf(job.gpu, sizeof job.gpu, "some\nGPU\n");
        if (draw(2) == 1)
            snprintf(job.driver, sizeof job.driver, "some driver");
        if (draw(2) == 1)
            snprintf(job.cuda, sizeof job.cuda, "some CUDA");
        job.device_count = draw(2) == 1 ? job.device_count : 0;
        if (job.device_count == 0)
            snprintf(job.no_gpu, sizeof job.no_gpu, "none");
        options.machine = draw(2) == 1 ? "mine" : NULL;
        snprintf(path, sizeof path, "/tmp/test_cases-%d.csv", (int)getpid());
        samples_t *samples = samples_create(path, true);
        assert_non_null(samples);
        provenance_write(samples, &job, &options, 3, argv);
        samples_begin(samples);
        assert_true(samples_close(samples, 0));
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        unlink(path);
        int most = 0, fewest = job.size;
        for (int node = 0; node < job.node_count; node++) {
            int count = 0;
            for (int rank = 0; rank < job.size; rank++)
                count += process[rank].node == node;
            most = count > most ? count : most;
            fewest = count < fewest ? count : fewest;
        }
        snprintf(layout, sizeof layout, fewest < most ? "%d to %d" : "%d", fewest, most);
        must_say("# hosts=%d", job.node_count);
        must_say("# layout=%d processes, %s a node", job.size, layout);
        must_say("# binding=%s", job.bound_here ? "to sockets, by portolan-calibrate" : "the launcher's");
        must_say("# node=2 sockets, %d GPUs, 8 cores", job.device_count);
        must_say("# gpu=%s", job.device_count > 0 ? "some GPU" : "none"); /* on one line */
        if (options.machine != NULL)
            must_say("# machine=mine");
        else if (job.device_count > 0)
            must_say("# machine=some CPU, %d x some GPU", job.device_count);
        else
            must_say("# machine=some CPU");
        must_say("# driver=%s", job.driver[0] != '\0' ? "some driver" : "none");
        must_say("# cuda=%s", job.cuda[0] != '\0' ? "some CUDA" : "none");
        must_say("# mpi=MPICH Version: 4.0.2 MPICH Device: ch4:ucx"); /* without how it was built */
        must_say("# cuda_aware=yes");
        must_say("# nccl=%s", job.device_count > 0 ? "1.2.3" : "none");
        must_say("# runs=%s", pto_runs_name(job.runs));
        must_say("# command=portolan-calibrate --budget 3");
        must_say("# budget=2.5 s for each benchmark, at most 17 samples of a point");
        must_say("# sizes=%s",
                 options.exhaustive ? "all" : "every second power of two, more at limits and bends");
    }
}
