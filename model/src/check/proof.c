/* Proves a plan by the first method that succeeds, the cheapest first (pto_proof_t). The first two methods
 * know only a part of the happens-before relation. A proof by them is valid, but they may report a race where
 * there is none. Then the next method decides, and describes the fault. */
#include "check/check_internal.h"

/* Returns whether the next method, which knows more of the happens-before relation, would find the same. */
static bool is_final(pto_proof_t proof, pto_status_t status, bool unordered) {
    if (status == PTO_OK || status == PTO_ERR_MEMORY || proof == PTO_PROOF_IN_FULL)
        return true;
    return proof == PTO_PROOF_BY_GROUP_CLOCKS && !unordered;
}

/* Refuses a plan for which clocks by group have `found` a race. Only a proof in full could tell whether it is
 * one, but it would take too many clocks. */
static pto_status_t refuse_full_proof(const pto_error_t *found, int64_t ranks, pto_error_t *err) {
    return pto_error_set(
        err, PTO_ERR_TOO_LARGE,
        "the order of accesses would have to be proved among all processes, which check does for at "
        "most %d lanes of processes; this layout has %lld processes (%.300s)",
        PTO_CHECK_CLOCKS_MAX, (long long)ranks, found->message);
}

pto_status_t pto_check_ranks(int64_t ranks, pto_error_t *err) {
    if (ranks <= PTO_CHECK_RANKS_MAX)
        return PTO_OK;
    return pto_error_set(err, PTO_ERR_TOO_LARGE, "check supports at most %d processes; this layout has %lld",
                         PTO_CHECK_RANKS_MAX, (long long)ranks);
}

pto_status_t pto_check_assigned(const pto_plan_t *plan, const pto_choices_t *choices,
                                pto_check_report_t *report, pto_error_t *err) {
    int64_t ranks = pto_layout_rank_count(&pto_plan_request(plan)->layout);
    pto_error_t found = {0};
    bool final = false;
    pto_status_t status = pto_check_ranks(ranks, err);
    if (status != PTO_OK)
        return status;
    for (int proof = 0; proof < PTO_PROOF_COUNT && !final; proof++) {
        bool unordered = false;
        if (proof == PTO_PROOF_IN_FULL && ranks * pto_plan_lane_count(plan) > PTO_CHECK_CLOCKS_MAX)
            return refuse_full_proof(&found, ranks, err);
        status = pto_check_by_method(plan, (pto_proof_t)proof, choices, report, &unordered, &found);
        final = is_final((pto_proof_t)proof, status, unordered);
    }
    if (status != PTO_OK && err)
        *err = found;
    return status;
}
