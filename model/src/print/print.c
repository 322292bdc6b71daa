/* Prints what one rank does in a plan (pto_print, `portolan plan`): each step as a function of the loop's k
 * or, if the plan is unrolled, each action of each iteration with its byte ranges. */
#include "portolan/check.h"

#include <stdlib.h>

#include "base/names.h"
#include "plan/plan_internal.h"
#include "portolan/strategy.h"
#include "print/text.h"

typedef struct {
    const pto_plan_t *plan;
    const pto_request_t *request;
    int64_t rank;
    bool unroll; /* print the actions of each iteration */
    int depth;   /* of indentation */
    pto_text_t text;
} printer_t;

static void print_indent(printer_t *printer, int additional) {
    pto_text_add(&printer->text, "%*s", 2 * (printer->depth + additional), "");
}

/* --- header --------------------------------------------------------------------------------------------- */

/* Returns what the size of a request is the size of. */
static PTO_NAME_FUNCTION(size_of, pto_data_t, PTO_DATA_COUNT, "",
                         {[PTO_DATA_VECTOR] = "the vector",
                          [PTO_DATA_BLOCKS] = "to each destination",
                          [PTO_DATA_MESSAGES] = "each message",
                          [PTO_DATA_PAIR] = "the message",
                          [PTO_DATA_GRID] = "each cell",
                          [PTO_DATA_GATHERED] = "from each owner",
                          [PTO_DATA_SCATTERED] = "to each owner"});

static void print_sizes(printer_t *printer) {
    const pto_request_t *request = printer->request;
    if (request->counts && !pto_counts_scale(request->counts) && !request->counts->host) {
        pto_text_add(&printer->text, "  bytes     by a %s of counts\n",
                     request->counts->kind == PTO_COUNTS_LIST ? "list" : "matrix");
        return;
    }
    pto_text_add(&printer->text, "  bytes     ");
    pto_text_bytes(&printer->text, request->bytes);
    pto_text_add(&printer->text, ", %s", size_of(pto_collective_data(request->collective)));
    if (request->counts && request->counts->kind == PTO_COUNTS_SKEW && !request->counts->host)
        pto_text_add(&printer->text, ", within %g percent (seed %llu)", 100 * request->counts->skew,
                     (unsigned long long)request->counts->seed);
    char pattern[PTO_ERROR_MESSAGE_MAX];
    if (request->counts && *pto_counts_describe(request->counts, pattern, sizeof pattern))
        pto_text_add(&printer->text, ", %s", pattern);
    if (pto_collective_data(request->collective) == PTO_DATA_MESSAGES)
        pto_text_add(&printer->text, ", %lld from each owner", (long long)request->messages);
    if (request->unique_bytes > 0) {
        pto_text_add(&printer->text, ", of which ");
        pto_text_bytes(&printer->text, request->unique_bytes);
        pto_text_add(&printer->text, " differ");
    }
    pto_text_add(&printer->text, request->in_place ? ", in place\n" : "\n");
}

static void print_header(printer_t *printer) {
    const pto_request_t *request = printer->request;
    const pto_layout_t *layout = &request->layout;
    pto_text_add(&printer->text, "%s by %s, with %s\n", pto_collective_name(request->collective),
                 request->strategy->name, request->algorithm->name);
    if (layout->in_host)
        pto_text_add(&printer->text, "  layout    %lld nodes x %lld processes = %lld ranks\n",
                     (long long)layout->nodes, (long long)layout->gpus_per_node,
                     (long long)pto_layout_rank_count(layout));
    else
        pto_text_add(
            &printer->text,
            "  layout    %lld nodes x %lld GPUs x %lld processes = %lld ranks, %lld of them owners\n",
            (long long)layout->nodes, (long long)layout->gpus_per_node, (long long)layout->procs_per_gpu,
            (long long)pto_layout_rank_count(layout), (long long)pto_layout_owner_count(layout));
    print_sizes(printer);
    if (request->strategy->splits)
        pto_text_add(&printer->text, "  split     %s\n", pto_split_name(request->split));
    pto_text_add(&printer->text, "  digest    %016llx\n", (unsigned long long)pto_plan_digest(printer->plan));
}

/* The rank's index in each group: the value of "me". */
static void print_indices(printer_t *printer) {
    const char *first = "  me            ", *separator = first;
    for (int i = 0; i < printer->plan->groups.count; i++) {
        const pto_group_t *group = pto_plan_group(printer->plan, i);
        int64_t index = pto_group_index(printer->plan, group, printer->rank);
        if (index < 0)
            continue;
        pto_text_add(&printer->text, "%s%s %lld of %lld", separator, pto_text_member(group), (long long)index,
                     (long long)group->size);
        separator = ", ";
    }
    pto_text_add(&printer->text, "%s", separator == first ? "" : "\n");
}

static void print_place(printer_t *printer) {
    const pto_layout_t *layout = &printer->request->layout;
    pto_rank_t place = pto_layout_rank(layout, printer->rank);
    if (layout->in_host)
        pto_text_add(&printer->text, "\nrank %lld: node %lld, process %lld\n", (long long)printer->rank,
                     (long long)place.node, (long long)place.gpu);
    else
        pto_text_add(&printer->text, "\nrank %lld: node %lld, GPU %lld, core %lld, %s\n",
                     (long long)printer->rank, (long long)place.node, (long long)place.gpu,
                     (long long)place.core, place.core < layout->owners_per_gpu ? "an owner" : "a helper");
    print_indices(printer);
}

static void print_buffer(printer_t *printer, int index) {
    const pto_buffer_t *buffer = pto_plan_buffer(printer->plan, index);
    int64_t core = printer->rank % printer->request->layout.procs_per_gpu;
    if (!pto_buffer_holds(printer->plan, index, printer->rank))
        return;
    pto_text_add(&printer->text, "  %-13s %s, ", buffer->name, pto_space_name(buffer->space));
    pto_text_bytes(&printer->text, pto_buffer_bytes(printer->plan, index, printer->rank));
    if (buffer->split > 1)
        pto_text_add(&printer->text, ": share %lld of %lld of", (long long)core, (long long)buffer->split);
    else if (buffer->cyclic != PTO_CYCLIC_NONE)
        pto_text_add(&printer->text, ": one in %lld of", (long long)buffer->cyclic_count);
    else if (buffer->block_count > 1)
        pto_text_add(&printer->text, " in");
    if (buffer->split > 1 && buffer->block_count == 1)
        pto_text_add(&printer->text,
                     pto_collective_is_vector(printer->request->collective) ? " the vector" : " the block");
    else if (buffer->block_count > 1)
        pto_text_add(&printer->text, " %lld blocks", (long long)buffer->block_count);
    if (buffer->double_buffered)
        pto_text_add(&printer->text, ", and another one for every second run");
    pto_text_add(&printer->text, "\n");
}

/* --- steps ---------------------------------------------------------------------------------------------- */

/* Returns the word between a step's slice or flag and its target or peers. */
static PTO_NAME_FUNCTION(relation, pto_step_kind_t, PTO_STEP_COUNT, "",
                         {[PTO_STEP_SEND] = "->",
                          [PTO_STEP_RECV] = "<-",
                          [PTO_STEP_COPY] = "->",
                          [PTO_STEP_REDUCE] = "->",
                          [PTO_STEP_SIGNAL] = "to",
                          [PTO_STEP_WAIT] = "of",
                          [PTO_STEP_LAUNCH] = ""});

/* The sizes of a step's messages or copies. */
typedef struct {
    int64_t count;
    int64_t min;
    int64_t max;
    bool truncated; /* after PTO_PRINT_SIZES_MAX */
} sizes_t;

static void add_size(printer_t *printer, const pto_action_t *action, sizes_t *sizes) {
    int64_t bytes = pto_slice_bytes(printer->plan, pto_message_slice(action->step), action);
    if (sizes->count == 0 || bytes < sizes->min)
        sizes->min = bytes;
    if (sizes->count == 0 || bytes > sizes->max)
        sizes->max = bytes;
    sizes->count++;
}

static void add_sizes(printer_t *printer, const pto_step_t *step, int64_t k, sizes_t *sizes) {
    pto_action_t action;
    if (!pto_step_acts(printer->plan, step, printer->rank, k, &action))
        return;
    int64_t peers = pto_step_peer_count(printer->plan, &action);
    if (step->peers.kind == PTO_PEERS_NONE)
        add_size(printer, &action, sizes);
    for (int64_t j = 0; j < peers && !sizes->truncated; j++) {
        if (pto_step_peer(printer->plan, j, &action))
            add_size(printer, &action, sizes);
        sizes->truncated = sizes->count >= PTO_PRINT_SIZES_MAX;
    }
}

/* Prints the sizes in a column, which needs a text of its own to be padded. */
static void print_size_range(printer_t *printer, const sizes_t *sizes) {
    pto_text_t size = {0};
    pto_text_bytes(&size, sizes->min);
    if (sizes->max != sizes->min) {
        pto_text_add(&size, " .. ");
        pto_text_bytes(&size, sizes->max);
    }
    if (sizes->truncated)
        pto_text_add(&size, " in the first %d", PTO_PRINT_SIZES_MAX);
    pto_text_add(&printer->text, "%-12s ", size.text ? size.text : "");
    printer->text.out_of_memory = printer->text.out_of_memory || size.out_of_memory;
    free(size.text);
}

/* The iterations in which the rank acts, unless it acts in all of them. */
static void print_iterations(printer_t *printer, const pto_step_t *step, int64_t from, int64_t to) {
    pto_action_t action;
    int64_t acts = 0, looked_at = to - from < PTO_PRINT_SIZES_MAX ? to - from : PTO_PRINT_SIZES_MAX;
    for (int64_t k = from; k < from + looked_at; k++)
        acts += pto_step_acts(printer->plan, step, printer->rank, k, &action);
    if (acts == looked_at)
        return;
    pto_text_add(&printer->text, "   only k =");
    int64_t printed = 0;
    for (int64_t k = from; k < from + looked_at && printed < PTO_PRINT_PEERS_MAX; k++)
        if (pto_step_acts(printer->plan, step, printer->rank, k, &action))
            pto_text_add(&printer->text, "%s %lld", printed++ ? "," : "", (long long)k);
    if (acts > printed)
        pto_text_add(&printer->text, ", ... and %lld more", (long long)(acts - printed));
}

typedef struct {
    pto_text_t *text;
    int64_t count;
} ranges_t;

static bool print_range(void *context, int64_t offset_bytes, int64_t bytes) {
    ranges_t *ranges = context;
    if (ranges->count++ < PTO_PRINT_RANGES_MAX)
        pto_text_add(ranges->text, "%s%lld..%lld", ranges->count > 1 ? ", " : "", (long long)offset_bytes,
                     (long long)(offset_bytes + bytes - 1));
    return true;
}

static void print_slice(printer_t *printer, const pto_slice_t *slice, const pto_action_t *action) {
    ranges_t ranges = {.text = &printer->text};
    if (!printer->unroll) {
        pto_text_slice(&printer->text, printer->plan, slice, action);
        return;
    }
    if (slice->holder == PTO_HOLDER_PEER) {
        pto_text_rank(&printer->text, printer->plan, action->peer_rank);
        pto_text_add(&printer->text, "'s ");
    }
    pto_text_add(&printer->text, "%s%s[", slice->holder == PTO_HOLDER_OWNER ? "the owner's " : "",
                 pto_plan_buffer(printer->plan, slice->buffer)->name);
    pto_slice_visit(printer->plan, slice, action, print_range, &ranges);
    if (ranges.count > PTO_PRINT_RANGES_MAX)
        pto_text_add(&printer->text, ", ... and %lld more ranges",
                     (long long)(ranges.count - PTO_PRINT_RANGES_MAX));
    pto_text_add(&printer->text, "]");
}

/* Prints a step of the rank: in words or, if the plan is unrolled, one action of it in numbers. */
static void print_words(printer_t *printer, const pto_action_t *action, const sizes_t *sizes) {
    const pto_step_t *step = action->step;
    print_indent(printer, 1);
    pto_text_add(&printer->text, "%-6s ", pto_step_name(step->kind));
    if (pto_step_is_signal(step)) {
        pto_text_add(&printer->text, "'%s'", pto_plan_flag_name(printer->plan, step->flag));
    } else {
        print_size_range(printer, sizes);
        print_slice(printer, pto_message_slice(step), action);
    }
    pto_text_add(&printer->text, " %s ", relation(step->kind));
    if (pto_step_is_local(step))
        print_slice(printer, &step->target, action);
    else if (printer->unroll)
        pto_text_rank(&printer->text, printer->plan, action->peer_rank);
    else
        pto_text_peers(&printer->text, printer->plan, action);
}

static void print_launch(printer_t *printer) {
    print_indent(printer, 1);
    pto_text_add(&printer->text, "%-6s the kernel\n", pto_step_name(PTO_STEP_LAUNCH));
}

/* A step as a function of the loop's k; outside of loops, `from` .. `to` is one iteration. */
static void print_step(printer_t *printer, const pto_step_t *step, int64_t from, int64_t to) {
    sizes_t sizes = {0};
    pto_action_t action = {0};
    int64_t k = from;
    while (k < to && !pto_step_acts(printer->plan, step, printer->rank, k, &action))
        k++;
    if (k == to)
        return;
    if (step->kind == PTO_STEP_LAUNCH) {
        print_launch(printer);
        return;
    }
    for (int64_t i = from; i < to && !sizes.truncated && !pto_step_is_signal(step); i++) {
        add_sizes(printer, step, i, &sizes);
        sizes.truncated = sizes.truncated || (i - from >= PTO_PRINT_SIZES_MAX && i + 1 < to);
    }
    if (sizes.max == 0 && !pto_step_is_signal(step) && !step->send_empty)
        return;
    print_words(printer, &action, &sizes);
    print_iterations(printer, step, from, to);
    pto_text_add(&printer->text, "\n");
}

static void print_action(printer_t *printer, const pto_action_t *action) {
    sizes_t sizes = {.count = 0};
    if (!pto_step_is_signal(action->step))
        add_size(printer, action, &sizes);
    print_words(printer, action, &sizes);
    pto_text_add(&printer->text, "\n");
}

/* Empty messages that are not sent are omitted. */
static bool is_shown(printer_t *printer, const pto_action_t *action) {
    return pto_step_is_signal(action->step) || action->step->send_empty ||
           pto_slice_bytes(printer->plan, pto_message_slice(action->step), action) > 0;
}

static void print_actions(printer_t *printer, const pto_step_t *step, int64_t k) {
    pto_action_t action;
    if (!pto_step_acts(printer->plan, step, printer->rank, k, &action))
        return;
    if (step->kind == PTO_STEP_LAUNCH) {
        print_launch(printer);
        return;
    }
    if (step->peers.kind == PTO_PEERS_NONE && is_shown(printer, &action))
        print_action(printer, &action);
    int64_t peers = pto_step_peer_count(printer->plan, &action), printed = 0, j = 0;
    for (; j < peers && printed < PTO_PRINT_PEERS_MAX; j++)
        if (pto_step_peer(printer->plan, j, &action) && is_shown(printer, &action)) {
            print_action(printer, &action);
            printed++;
        }
    int64_t left = 0;
    for (; j < peers; j++)
        left += pto_step_peer(printer->plan, j, &action) && is_shown(printer, &action);
    if (left > 0) {
        print_indent(printer, 1);
        pto_text_add(&printer->text, "... and %lld more\n", (long long)left);
    }
}

/* --- stages --------------------------------------------------------------------------------------------- */

static void print_line(printer_t *printer, const char *line) {
    print_indent(printer, 0);
    pto_text_add(&printer->text, "%s\n", line);
}

static void print_stage(printer_t *printer, const pto_stage_t *stage, int64_t from, int64_t to) {
    print_indent(printer, 0);
    pto_text_add(&printer->text, "%s%s%s\n", stage->name,
                 stage->order == PTO_ORDER_AT_ONCE ? ", all at once" : "",
                 stage->once ? ", by the first lane that takes this branch" : "");
    size_t before = printer->text.length;
    for (int i = 0; i < stage->step_count; i++) {
        const pto_step_t *step = pto_plan_step(printer->plan, stage->step_first + i);
        if (printer->unroll)
            print_actions(printer, step, from);
        else
            print_step(printer, step, from, to);
    }
    if (printer->text.length == before && !printer->text.out_of_memory) {
        printer->text.length--; /* drop the newline after the stage's name */
        pto_text_add(&printer->text, ": nothing\n");
    }
}

/* Prints the stages of a loop's iteration k. An either node has three branches (PTO_NODE_EITHER), whose
 * stages are indented. The first one does not depend on k, so that it is printed once. */
static void print_loop_body(printer_t *printer, int index, const pto_node_t *loop, int64_t k) {
    static const char *const branch_name[] = {"lane 0, for all", "branch A", "branch B"};
    int branches = 0; /* so far */
    printer->depth++;
    for (int i = index + 1; i <= index + loop->span; i++) {
        const pto_node_t *node = pto_plan_node(printer->plan, i);
        bool printed_before = node->kind == PTO_NODE_BRANCH && branches == 0 && k > loop->from;
        if (node->kind == PTO_NODE_STAGE) {
            printer->depth += branches > 0;
            print_stage(printer, pto_plan_stage(printer->plan, node->stage), k, loop->to);
            printer->depth -= branches > 0;
        } else if (printed_before) {
            i += node->span;
        } else if (node->kind == PTO_NODE_BRANCH) {
            print_line(printer, branch_name[branches]);
        }
        branches += node->kind == PTO_NODE_BRANCH;
    }
    printer->depth--;
}

/* A loop's body: once as a function of k, or with the numbers of each iteration. */
static void print_loop(printer_t *printer, int index, const pto_node_t *loop) {
    int64_t iterations = loop->from < loop->to ? loop->to - loop->from : 0;
    int64_t printed = 0;
    if (!printer->unroll && iterations > 0) {
        print_indent(printer, 0);
        pto_text_add(&printer->text, "for k = %lld .. %lld", (long long)loop->from, (long long)loop->to - 1);
        if (loop->kind == PTO_NODE_PIPELINE)
            pto_text_add(&printer->text, ", pipelined: each stage is a lane, at most %lld chunks at once",
                         (long long)loop->depth);
        else if (loop->kind == PTO_NODE_EITHER)
            pto_text_add(&printer->text, ", each in a lane: branch A or B, by the policy '%s'",
                         pto_policy_name(loop->policy));
        pto_text_add(&printer->text, "\n");
        print_loop_body(printer, index, loop, loop->from);
        return;
    }
    for (; printed < iterations && printed < PTO_PRINT_ITERATIONS_MAX; printed++) {
        print_indent(printer, 0);
        pto_text_add(&printer->text, "k = %lld\n", (long long)(loop->from + printed));
        print_loop_body(printer, index, loop, loop->from + printed);
    }
    if (iterations > printed) {
        print_indent(printer, 0);
        pto_text_add(&printer->text, "... and %lld more iterations\n", (long long)(iterations - printed));
    }
}

static void print_collective(printer_t *printer, const pto_node_t *node) {
    static const char *const stands_for[PTO_DONE_BY_COUNT] = {
        [PTO_DONE_BY_US] = "",
        [PTO_DONE_BY_LIBRARY] = ", as the MPI library's own",
        [PTO_DONE_BY_NCCL] = ": one call, for which these stages stand",
    };
    const pto_group_t *group = pto_plan_group(printer->plan, node->group);
    print_indent(printer, 0);
    pto_text_add(&printer->text, "%s of %lld %ss by %s%s\n", pto_collective_name(node->collective),
                 (long long)group->size, pto_text_member(group), printer->request->algorithm->name,
                 stands_for[node->by]);
}

static void print_kernel(printer_t *printer, const pto_node_t *node) {
    const pto_group_t *group = pto_plan_group(printer->plan, node->group);
    print_indent(printer, 0);
    pto_text_add(&printer->text, "one kernel of each of %lld %ss\n", (long long)group->size,
                 pto_text_member(group));
}

/* Nodes [first, until), and what they contain. */
static void print_nodes(printer_t *printer, int first, int until) {
    int lane = 0;
    for (int i = first; i < until; i++) {
        const pto_node_t *node = pto_plan_node(printer->plan, i);
        if (node->kind == PTO_NODE_STAGE) {
            print_stage(printer, pto_plan_stage(printer->plan, node->stage), 0, 1);
            continue;
        }
        if (pto_node_repeats(node->kind)) {
            print_loop(printer, i, node);
            i += node->span;
            continue;
        }
        if (node->kind == PTO_NODE_COLLECTIVE)
            print_collective(printer, node);
        else if (node->kind == PTO_NODE_KERNEL)
            print_kernel(printer, node);
        else if (node->kind == PTO_NODE_PARALLEL)
            print_line(printer, "in parallel");
        else {
            print_indent(printer, 0);
            pto_text_add(&printer->text, "lane %d\n", lane++);
        }
        printer->depth++;
        print_nodes(printer, i + 1, i + 1 + node->span);
        printer->depth--;
        i += node->span;
    }
}

pto_status_t pto_print(const pto_plan_t *plan, int64_t rank, bool unroll, char **text, pto_error_t *err) {
    const pto_request_t *request = pto_plan_request(plan);
    int64_t ranks = pto_layout_rank_count(&request->layout);
    if (rank < 0 || rank >= ranks)
        return pto_error_set(err, PTO_ERR_RANGE, "there is no rank %lld, only 0 to %lld", (long long)rank,
                             (long long)ranks - 1);
    printer_t printer = {.plan = plan, .request = request, .rank = rank, .unroll = unroll};
    print_header(&printer);
    print_place(&printer);
    for (int buffer = 0; buffer < pto_plan_buffer_count(plan); buffer++)
        print_buffer(&printer, buffer);
    pto_text_add(&printer.text, "\n");
    printer.depth = 1;
    print_nodes(&printer, 0, pto_plan_node_count(plan));
    return pto_text_take(&printer.text, "a plan's text", text, err);
}
