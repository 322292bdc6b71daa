/* The report (PORTOLAN_REPORT): a row for each call, with the time to enqueue it, as in dropin/report.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "call_rows.h"
#include "environment.h"
#include "tap.h"

static double opened_s;

/* If the drop-in for MPI is preloaded, too, it writes the file of this name. */
static bool shares_the_name(void) {
    const char *preload = preload_text("LD_PRELOAD");
    return preload && strstr(preload, "libportolan-mpi.so");
}

static void open_file(int rank) {
    const char *name = preload_text("PORTOLAN_REPORT");
    const size_t size = name ? strlen(name) + sizeof ".nccl" : 0;
    char *own = name ? malloc(size) : NULL;
    opened_s = pto_now_s();
    if (own) {
        snprintf(own, size, "%s%s", name, shares_the_name() ? ".nccl" : "");
        preload_call_rows_open(own, rank);
    }
    free(own);
}

bool tap_reports(const tap_comm_t *comm) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static atomic_bool asked;
    if (!atomic_load_explicit(&asked, memory_order_acquire)) {
        pthread_mutex_lock(&lock);
        if (!asked)
            open_file(tap_settings()->rank >= 0 ? tap_settings()->rank : comm->rank);
        atomic_store_explicit(&asked, true, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
    return preload_call_rows_are_open();
}

static bool has_root(const tap_call_t *call) {
    const pto_collective_t collective = tap_collective_of(call);
    return tap_is_message(call) || pto_collective_is_from_root(collective) ||
           pto_collective_is_to_root(collective);
}

void tap_report(tap_comm_t *comm, const tap_call_t *call, const tap_pick_t *pick, bool taken,
                double began_s) {
    const bool by_block = call->function == TAP_ncclReduceScatter || call->function == TAP_ncclAlltoAll;
    const int64_t bytes = (int64_t)call->count * tap_element_bytes(call->datatype);
    preload_call_row(&(preload_call_row_t){
        .begin_s = began_s > opened_s ? began_s - opened_s : 0,
        .end_s = pto_now_s() - opened_s,
        .routine = tap_functions[call->function].name,
        .communicator = comm->id,
        .procs = comm->size,
        .root = has_root(call) ? call->peer : -1,
        .bytes = by_block ? bytes * comm->size : bytes,
        .space = "gpu",
        .route = taken && pick ? pick->name : "nccl",
        .predicted_s = !pick   ? 0
                       : taken ? pick->predicted_s
                               : pick->nccl_s,
        .library_s = pick ? pick->nccl_s : 0,
    });
}

void tap_report_passed(const tap_call_t *call, double began_s) {
    tap_comm_t *comm = tap_comm_of(call->comm);
    if (!comm)
        return;
    atomic_fetch_add(&comm->passed, 1);
    if (!tap_reports(comm))
        return;
    pthread_mutex_lock(&comm->lock);
    tap_report(comm, call, tap_pick_known(comm, call), false, began_s);
    pthread_mutex_unlock(&comm->lock);
}
