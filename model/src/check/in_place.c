/* Plans that may run in place (pto_plan_may_be_in_place), with one buffer as the user's input and output. A
 * proof of such a plan holds for one buffer and for two: the two are aliases, so that an access to the input
 * is also one to the output, and a write to the output overwrites the input. */
#include "check/check_internal.h"

int pto_check_role(const pto_plan_t *plan, pto_role_t role) {
    for (int buffer = 0; buffer < pto_plan_buffer_count(plan); buffer++)
        if (pto_plan_buffer(plan, buffer)->role == role)
            return buffer;
    return -1;
}

void pto_check_find_aliases(pto_checker_t *checker) {
    bool may_alias = pto_plan_may_be_in_place(checker->plan);
    checker->in = may_alias ? pto_check_role(checker->plan, PTO_ROLE_IN) : -1;
    checker->out = may_alias ? pto_check_role(checker->plan, PTO_ROLE_OUT) : -1;
    checker->not_counted = -1;
    if (checker->in < 0 || checker->out < 0) {
        checker->in = checker->out = -1;
        return;
    }
    bool in_shared = checker->shared[checker->in], out_shared = checker->shared[checker->out];
    if (in_shared != out_shared && checker->lanes == 1)
        checker->not_counted = in_shared ? checker->out : checker->in;
    checker->shared[checker->in] = checker->shared[checker->out] = in_shared || out_shared;
}

int pto_check_find_alias(const pto_checker_t *checker, const pto_touch_t *touch) {
    int alias = touch->buffer == checker->in ? checker->out : checker->in;
    bool is_alias = pto_buffer_is_users(checker->plan, checker->in, touch->holder) &&
                    pto_buffer_is_users(checker->plan, checker->out, touch->holder) &&
                    checker->bytes[touch->holder * checker->buffers + alias] >= touch->end;
    return is_alias ? alias : -1;
}

bool pto_check_is_onto_itself(const pto_checker_t *checker, const pto_touches_t *sources,
                              const pto_touches_t *targets, int at) {
    const pto_touch_t *target = &targets->item[at];
    if (target->buffer != checker->out || pto_check_alias(checker, target) < 0)
        return false;
    for (int i = at; i < sources->count; i += targets->count) {
        const pto_touch_t *source = &sources->item[i];
        if (source->buffer == checker->in && source->holder == target->holder &&
            source->begin == target->begin && source->end == target->end)
            return true;
    }
    return false;
}

/* Returns whether the input holds what was written to the output. */
static bool is_same(pto_checker_t *checker, pto_contents_t *input, const pto_content_t *written) {
    bool same = true;
    pto_contents_read(input, written->begin, written->end, &checker->moved, &checker->sets);
    for (int i = 0; i < checker->moved.count; i++) {
        const pto_content_t *held = &checker->moved.span[i];
        same = same && held->set == written->set && held->delta == written->delta &&
               pto_contents_same_order(held, written);
    }
    return same;
}

void pto_check_overwrite_input(pto_checker_t *checker, const pto_touch_t *target) {
    if (pto_check_alias(checker, target) < 0)
        return;
    pto_contents_t *input = pto_check_contents(checker, target->holder, checker->in);
    pto_contents_read(pto_check_contents(checker, target->holder, checker->out), target->begin, target->end,
                      &checker->present, &checker->sets);
    for (int i = 0; i < checker->present.count; i++) {
        const pto_content_t *written = &checker->present.span[i];
        pto_content_t nothing = {.begin = written->begin, .end = written->end};
        if (!is_same(checker, input, written))
            pto_contents_write(input, nothing, &checker->sets);
    }
}
