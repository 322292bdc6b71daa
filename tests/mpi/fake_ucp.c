/* In front of UCX's libucp, under MPICH's device ch4:ucx: counts the messages of each process to each other
 * one. test_export_mpich.sh preloads it. At the end, a line SOURCE,DESTINATION,MESSAGES,BYTES for each pair.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PEERS_MAX = 64 };

typedef int create_t(void *worker, const void *parameters, void **endpoint);
typedef void *send_t(void *endpoint, const void *buffer, size_t count, uint64_t tag, const void *parameters);

create_t ucp_ep_create;
send_t ucp_tag_send_nbx;

/* MPICH creates them in the order of ranks. */
static struct {
    void *endpoint;
    long messages, last;
    size_t bytes;
} peers[PEERS_MAX];
static int peer_count;
static long message_count;

int ucp_ep_create(void *worker, const void *parameters, void **endpoint) {
    create_t *create;
    *(void **)&create = dlsym(RTLD_NEXT, "ucp_ep_create");
    int status = create(worker, parameters, endpoint);
    if (peer_count == PEERS_MAX)
        abort();
    peers[peer_count++].endpoint = *endpoint;
    return status;
}

/* Bytes, as long as the type is MPI_BYTE. */
void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t count, uint64_t tag,
                       const void *parameters) {
    static send_t *send;
    if (!send)
        *(void **)&send = dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    int peer = 0;
    while (peer < peer_count && peers[peer].endpoint != endpoint)
        peer++;
    if (peer == peer_count)
        abort();
    peers[peer].last = ++message_count;
    peers[peer].messages++;
    peers[peer].bytes += count;
    return send(endpoint, buffer, count, tag, parameters);
}

__attribute__((destructor)) static void print_all(void) {
    const char *rank = getenv("PMI_RANK");
    for (int i = 0; i < peer_count && rank; i++)
        if (peers[i].messages > 0)
            printf("%s,%d,%ld,%zu,%ld\n", rank, i, peers[i].messages, peers[i].bytes, peers[i].last);
}
