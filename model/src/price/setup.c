/* The cost of a plan's setup (portolan/price.h): the allocations and the openings of other processes' GPU
 * memory that impl/buffers.c makes, as its buffers and slices need them, in the busiest process. */
#include "portolan/price.h"

#include <stdlib.h>
#include <string.h>

#include "plan/plan_internal.h"
#include "price/ledger.h"

/* A plan, and which buffers it allocates itself: not those of collectives that an MPI library runs. */
typedef struct {
    const pto_plan_t *plan;
    bool *is_own; /* by buffer */
} survey_t;

/* The plan allocates a buffer itself unless it belongs to a collective that a library runs. */
static pto_status_t find_own_buffers(survey_t *survey, pto_error_t *err) {
    survey->is_own = calloc((size_t)pto_plan_buffer_count(survey->plan) + 1, sizeof *survey->is_own);
    if (!survey->is_own)
        return pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a plan's setup");
    for (int buffer = 0; buffer < pto_plan_buffer_count(survey->plan); buffer++) {
        int home = pto_buffer_home(survey->plan, buffer);
        survey->is_own[buffer] = home < 0 || pto_plan_node(survey->plan, home)->by == PTO_DONE_BY_US;
    }
    return PTO_OK;
}

static void temporary_bytes(const survey_t *survey, int64_t rank, int64_t bytes[PTO_SPACE_COUNT]) {
    for (int space = 0; space < PTO_SPACE_COUNT; space++)
        bytes[space] = 0;
    for (int b = 0; b < pto_plan_buffer_count(survey->plan); b++) {
        const pto_buffer_t *buffer = pto_plan_buffer(survey->plan, b);
        if (survey->is_own[b])
            bytes[buffer->space] +=
                pto_buffer_temporary_bytes(survey->plan, b, rank) * (buffer->double_buffered ? 2 : 1);
    }
}

static const char *const allocation_stage[PTO_SPACE_COUNT] = {
    [PTO_SPACE_CPU] = "allocate host memory", [PTO_SPACE_GPU] = "allocate GPU memory"};

typedef struct {
    pto_entry_t entry;
    double seconds;
} item_t;

/* The costs of one process's setup: the sum and its items, whose terms have no names yet. Naming takes longer
 * than all else, and only the terms of the busiest process need names. */
typedef struct {
    bool known; /* the machine file has all costs */
    double seconds;
    int count;
    item_t item[PTO_SETUP_TERM_MAX];
} bill_t;

/* Adds to the parameter's item, or appends one. `param` is NULL if the machine file lacks it. */
static void add_item(bill_t *bill, const item_t *item) {
    const pto_entry_t *entry = &item->entry;
    bill->known = bill->known && entry->param;
    bill->seconds += item->seconds;
    for (int i = 0; i < bill->count; i++) {
        item_t *present = &bill->item[i];
        if (present->entry.stage == entry->stage && present->entry.param == entry->param) {
            present->entry.count += entry->param ? entry->count : 0;
            present->seconds += item->seconds;
            return;
        }
    }
    bill->item[bill->count++] = *item;
}

static void add_entry(bill_t *bill, pto_entry_t entry) {
    add_item(bill, &(item_t){entry, entry.param ? entry.count * entry.param->value : 0});
}

static void name_items(const bill_t *bill, const pto_machine_t *machine, pto_setup_t *setup) {
    setup->known = bill->known;
    setup->seconds = bill->seconds;
    setup->term_count = bill->count;
    for (int i = 0; i < bill->count; i++) {
        setup->term[i] = pto_entry_term(&bill->item[i].entry, machine);
        setup->term[i].seconds = bill->item[i].seconds;
    }
}

/* A bill's items beyond its count are not set: zeroing them took most of the time. */
static void begin_bill(bill_t *bill) {
    bill->known = true;
    bill->seconds = 0;
    bill->count = 0;
}

static void add_cost(bill_t *bill, const pto_cost_table_t *cost, const char *stage, int64_t bytes) {
    const pto_postal_t *postal = pto_cost_at(cost, bytes);
    pto_entry_t entry = {.stage = stage, .cell = cost, .count = 1};
    if (postal) {
        entry.field = PTO_FIELD_ALPHA;
        entry.param = &postal->alpha_s;
    }
    add_entry(bill, entry);
    if (!postal || postal->beta_s_per_byte.value <= 0)
        return;
    entry.field = PTO_FIELD_BETA;
    entry.param = &postal->beta_s_per_byte;
    entry.count = (double)bytes;
    add_entry(bill, entry);
}

static void add_allocations(bill_t *bill, const pto_machine_t *machine, const int64_t *bytes) {
    for (int space = PTO_SPACE_COUNT - 1; space >= 0; space--)
        if (bytes[space] > 0)
            add_cost(bill, &machine->setup_allocate[space], allocation_stage[space], bytes[space]);
}

/* Bills the allocations of the process that takes the longest. If a cost is lacking, bills only that. */
static void bill_allocations(const survey_t *survey, const pto_machine_t *machine, int64_t ranks,
                             bill_t *bill) {
    int64_t longest[PTO_SPACE_COUNT] = {0}, lacking[PTO_SPACE_COUNT] = {0};
    double longest_s = 0;
    bool known = true;
    for (int64_t rank = 0; rank < ranks; rank++) {
        int64_t bytes[PTO_SPACE_COUNT];
        bill_t own;
        begin_bill(&own);
        temporary_bytes(survey, rank, bytes);
        add_allocations(&own, machine, bytes);
        known = known && own.known;
        for (int space = 0; space < PTO_SPACE_COUNT; space++)
            lacking[space] |= machine->setup_allocate[space].count == 0 ? bytes[space] : 0;
        if (own.seconds > longest_s) {
            longest_s = own.seconds;
            memcpy(longest, bytes, sizeof longest);
        }
    }
    add_allocations(bill, machine, known ? longest : lacking);
}

/* Allocations of a process: one for its GPU temporaries, then one for each buffer of the user. */
enum { TEMPORARIES, FIRST_BUFFER };

/* The allocations that a process opens: each once, empty ones never. */
typedef struct {
    const pto_machine_t *machine;
    int64_t ranks;      /* number of ranks whose memory can be opened */
    int64_t process;    /* the current one, counted from 1 */
    int64_t *opened_by; /* [rank][allocation]: the last process that opened it; 0: none */
    int64_t *bytes;     /* [rank][allocation]; -1: not known */
    bill_t bill;        /* of the current process */
} openings_t;

static int64_t place_of(const survey_t *survey, int64_t rank, int allocation) {
    return rank * (FIRST_BUFFER + pto_plan_buffer_count(survey->plan)) + allocation;
}

static int64_t bytes_of(const survey_t *survey, openings_t *openings, int64_t rank, int allocation) {
    int64_t *known = &openings->bytes[place_of(survey, rank, allocation)], bytes[PTO_SPACE_COUNT];
    if (*known < 0 && allocation == TEMPORARIES) {
        temporary_bytes(survey, rank, bytes);
        *known = bytes[PTO_SPACE_GPU];
    } else if (*known < 0) {
        *known = pto_buffer_bytes(survey->plan, allocation - FIRST_BUFFER, rank);
    }
    return *known;
}

/* Only GPU memory is opened: host buffers are in the node's segment, which every process maps anyway. */
static void open_for_slice(const survey_t *survey, const pto_slice_t *slice, const pto_action_t *action,
                           openings_t *openings) {
    int64_t holder = pto_slice_holder(survey->plan, slice, action);
    int buffer = FIRST_BUFFER + slice->buffer;
    if (holder == action->rank || pto_plan_buffer(survey->plan, slice->buffer)->space != PTO_SPACE_GPU ||
        holder >= openings->ranks)
        return;
    int allocation = pto_buffer_is_users(survey->plan, slice->buffer, holder) ? buffer : TEMPORARIES;
    int64_t *opened_by = &openings->opened_by[place_of(survey, holder, allocation)];
    if (*opened_by == openings->process || bytes_of(survey, openings, holder, buffer) == 0)
        return;
    *opened_by = openings->process;
    add_cost(&openings->bill, &openings->machine->setup_open, "open GPU memory",
             bytes_of(survey, openings, holder, allocation));
}

/* Bills the openings of one process. */
static void open_for_rank(const survey_t *survey, int64_t rank, openings_t *openings) {
    pto_actions_t moves;
    openings->process = rank + 1;
    begin_bill(&openings->bill);
    pto_actions_begin(&moves, survey->plan, rank, 1u << PTO_STEP_COPY | 1u << PTO_STEP_REDUCE);
    while (pto_actions_next(&moves)) {
        open_for_slice(survey, &moves.action.step->source, &moves.action, openings);
        open_for_slice(survey, &moves.action.step->target, &moves.action, openings);
    }
}

static bool opens_anything(const pto_plan_t *plan) {
    bool any = false;
    for (int i = 0; i < plan->steps.count; i++) {
        const pto_step_t *step = pto_plan_step(plan, i);
        any = any || step->source.holder != PTO_HOLDER_SELF || step->target.holder != PTO_HOLDER_SELF;
    }
    return any;
}

/* Bills the openings of the process that has the most. Most plans have none. */
static pto_status_t bill_openings(const survey_t *survey, const pto_machine_t *machine, int64_t ranks,
                                  bill_t *bill, pto_error_t *err) {
    bill_t opened;
    begin_bill(&opened);
    if (!opens_anything(survey->plan))
        return PTO_OK;
    size_t places = (size_t)place_of(survey, ranks, 0);
    openings_t openings = {.machine = machine,
                           .ranks = ranks,
                           .opened_by = calloc(places, sizeof *openings.opened_by),
                           .bytes = malloc(places * sizeof *openings.bytes)};
    bool ready = openings.opened_by && openings.bytes;
    for (size_t i = 0; ready && i < places; i++)
        openings.bytes[i] = -1;
    for (int64_t rank = 0; ready && rank < ranks; rank++) {
        open_for_rank(survey, rank, &openings);
        if (openings.bill.seconds > opened.seconds || !openings.bill.known)
            opened = openings.bill;
    }
    free(openings.opened_by);
    free(openings.bytes);
    for (int i = 0; i < opened.count; i++)
        add_item(bill, &opened.item[i]);
    return ready ? PTO_OK : pto_error_set(err, PTO_ERR_MEMORY, "out of memory for a plan's setup");
}

pto_status_t pto_setup(const pto_plan_t *plan, const pto_machine_t *machine, pto_setup_t *setup,
                       pto_error_t *err) {
    const pto_layout_t *layout = &pto_plan_request(plan)->layout;
    int64_t nodes = pto_plan_has_tables(plan) ? layout->nodes : 1;
    survey_t survey = {.plan = plan};
    bill_t result;
    begin_bill(&result);
    pto_status_t status = find_own_buffers(&survey, err);
    int64_t ranks = nodes * layout->gpus_per_node * layout->procs_per_gpu;
    if (status == PTO_OK) {
        bill_allocations(&survey, machine, ranks, &result);
        status = bill_openings(&survey, machine, ranks, &result, err);
    }
    free(survey.is_own);
    if (status != PTO_OK)
        return status;
    if (pto_plan_flag_count(plan) > 0) {
        const pto_param_t *segment_s = &machine->setup_segment_s;
        add_entry(&result, (pto_entry_t){.stage = "flag segment",
                                         .cell = segment_s,
                                         .param = pto_param_known(segment_s) ? segment_s : NULL,
                                         .count = 1});
    }
    name_items(&result, machine, setup);
    return PTO_OK;
}
