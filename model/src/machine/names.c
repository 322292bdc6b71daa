/* The words of machine files. */
#include "portolan/machine.h"

const char *pto_level_name(pto_level_t level) {
    static const char *const name[PTO_LEVEL_COUNT] = {[PTO_LEVEL_ON_GPU] = "on_gpu",
                                                      [PTO_LEVEL_ON_SOCKET] = "on_socket",
                                                      [PTO_LEVEL_ON_NODE] = "on_node",
                                                      [PTO_LEVEL_OFF_NODE] = "off_node"};
    return level < PTO_LEVEL_COUNT ? name[level] : "no level";
}

const char *pto_space_name(pto_space_t space) {
    static const char *const name[PTO_SPACE_COUNT] = {[PTO_SPACE_CPU] = "cpu", [PTO_SPACE_GPU] = "gpu"};
    return space < PTO_SPACE_COUNT ? name[space] : "no space";
}

const char *pto_protocol_name(pto_protocol_t protocol) {
    static const char *const name[PTO_PROTOCOL_COUNT] = {[PTO_PROTOCOL_SHORT] = "short",
                                                         [PTO_PROTOCOL_EAGER] = "eager",
                                                         [PTO_PROTOCOL_RENDEZVOUS] = "rendezvous"};
    return protocol < PTO_PROTOCOL_COUNT ? name[protocol] : "no protocol";
}

const char *pto_copy_kind_name(pto_copy_kind_t kind) {
    static const char *const name[PTO_COPY_COUNT] = {
        [PTO_COPY_H2D] = "h2d", [PTO_COPY_D2H] = "d2h", [PTO_COPY_D2D] = "d2d", [PTO_COPY_H2H] = "h2h"};
    return kind < PTO_COPY_COUNT ? name[kind] : "no copy";
}

const char *pto_reach_name(pto_reach_t reach) {
    static const char *const name[PTO_REACH_COUNT] = {
        [PTO_REACH_ON_SOCKET] = "on_socket", [PTO_REACH_OFF_SOCKET] = "off_socket"};
    return reach < PTO_REACH_COUNT ? name[reach] : "no reach";
}

const char *pto_remote_name(pto_remote_t remote) {
    static const char *const name[PTO_REMOTE_COUNT] = {
        [PTO_REMOTE_LOAD] = "load", [PTO_REMOTE_STORE] = "store"};
    return remote < PTO_REMOTE_COUNT ? name[remote] : "no access";
}

const char *pto_nccl_name(pto_nccl_kind_t kind) {
#define NAME(name, text) text,
    static const char *const name[] = {PTO_NCCL_TABLE(NAME)};
#undef NAME
    return kind < PTO_NCCL_COUNT ? name[kind] : "no collective";
}
