/* The layout of a job's processes on nodes, GPUs and cores: rank numbers and distances, by arithmetic. */
#include "portolan/scenario.h"

#include "base/checked.h"

pto_status_t pto_layout_check(const pto_layout_t *layout, pto_error_t *err) {
    const struct {
        int64_t value;
        const char *name;
    } count[] = {
        {layout->nodes, "nodes"},
        {layout->gpus_per_node, "gpus_per_node"},
        {layout->owners_per_gpu, "owners_per_gpu"},
        {layout->procs_per_gpu, "procs_per_gpu"},
        {layout->gpus_per_socket, "gpus_per_socket"},
    };
    for (size_t i = 0; i < sizeof count / sizeof *count; i++)
        if (count[i].value < 1)
            return pto_error_set(err, PTO_ERR_RANGE, "%s must be 1 or more, not %lld", count[i].name,
                                 (long long)count[i].value);
    if (layout->owners_per_gpu > layout->procs_per_gpu)
        return pto_error_set(err, PTO_ERR_RANGE, "owners_per_gpu %lld is more than procs_per_gpu %lld",
                             (long long)layout->owners_per_gpu, (long long)layout->procs_per_gpu);
    if (layout->in_host && layout->procs_per_gpu > 1)
        return pto_error_set(
            err, PTO_ERR_RANGE,
            "data in host memory have processes of a node, not of a GPU: procs_per_gpu is %lld",
            (long long)layout->procs_per_gpu);
    int64_t ranks = 0;
    if (!pto_multiply(layout->gpus_per_node, layout->procs_per_gpu, &ranks) ||
        !pto_multiply(ranks, layout->nodes, &ranks))
        return pto_error_set(
            err, PTO_ERR_RANGE,
            "%lld nodes of %lld %s (%lld cores each) are more processes than can be numbered",
            (long long)layout->nodes, (long long)layout->gpus_per_node,
            layout->in_host ? "processes" : "GPUs", (long long)layout->procs_per_gpu);
    return PTO_OK;
}

int64_t pto_layout_rank_count(const pto_layout_t *layout) {
    return layout->nodes * layout->gpus_per_node * layout->procs_per_gpu;
}

int64_t pto_layout_owner_count(const pto_layout_t *layout) {
    return layout->nodes * layout->gpus_per_node * layout->owners_per_gpu;
}

pto_rank_t pto_layout_rank(const pto_layout_t *layout, int64_t number) {
    int64_t gpu = number / layout->procs_per_gpu;
    return (pto_rank_t){
        .node = gpu / layout->gpus_per_node,
        .gpu = gpu % layout->gpus_per_node,
        .core = number % layout->procs_per_gpu,
    };
}

int64_t pto_layout_number(const pto_layout_t *layout, pto_rank_t rank) {
    return (rank.node * layout->gpus_per_node + rank.gpu) * layout->procs_per_gpu + rank.core;
}

pto_level_t pto_layout_level(const pto_layout_t *layout, pto_rank_t a, pto_rank_t b) {
    if (a.node != b.node)
        return PTO_LEVEL_OFF_NODE;
    if (a.gpu == b.gpu)
        return PTO_LEVEL_ON_GPU;
    bool same_socket = a.gpu / layout->gpus_per_socket == b.gpu / layout->gpus_per_socket;
    return same_socket ? PTO_LEVEL_ON_SOCKET : PTO_LEVEL_ON_NODE;
}
