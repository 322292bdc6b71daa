/* Layouts in words. */
#include "layout_text.h"

#include <stdio.h>

static const char *plural(int64_t count, const char *ending) { return count == 1 ? "" : ending; }

const char *pto_node_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]) {
    int64_t places = layout->gpus_per_node, procs = layout->procs_per_gpu;
    if (layout->in_host)
        snprintf(text, PTO_LAYOUT_TEXT_MAX, "%lld process%s a node, data in host memory", (long long)places,
                 plural(places, "es"));
    else
        snprintf(text, PTO_LAYOUT_TEXT_MAX, "%lld GPU%s a node, %lld process%s a GPU", (long long)places,
                 plural(places, "s"), (long long)procs, plural(procs, "es"));
    return text;
}

const char *pto_nodes_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]) {
    char node[PTO_LAYOUT_TEXT_MAX];
    int length = snprintf(text, PTO_LAYOUT_TEXT_MAX, "%lld node%s, ", (long long)layout->nodes,
                          plural(layout->nodes, "s"));
    snprintf(text + length, PTO_LAYOUT_TEXT_MAX - (size_t)length, "%s", pto_node_text(layout, node));
    return text;
}

const char *pto_layout_text(const pto_layout_t *layout, char text[PTO_LAYOUT_TEXT_MAX]) {
    int64_t nodes = layout->nodes, places = layout->gpus_per_node, procs = layout->procs_per_gpu;
    if (layout->in_host)
        snprintf(text, PTO_LAYOUT_TEXT_MAX, "%lld node%s x %lld process%s = %lld, data in host memory",
                 (long long)nodes, plural(nodes, "s"), (long long)places, plural(places, "es"),
                 (long long)(nodes * places));
    else
        snprintf(text, PTO_LAYOUT_TEXT_MAX, "%lld node%s x %lld GPU%s = %lld GPU%s, %lld process%s a GPU",
                 (long long)nodes, plural(nodes, "s"), (long long)places, plural(places, "s"),
                 (long long)(nodes * places), plural(nodes * places, "s"), (long long)procs,
                 plural(procs, "es"));
    return text;
}
