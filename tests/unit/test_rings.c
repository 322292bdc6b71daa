/* Rings of slots in shared host memory: flags that are raised several times before they are awaited. */
#include "lanes_cost.h"
#include "lanes_plan.h"
#include "test.h"

TEST(a_ring_costs_what_it_takes) {
    static const int64_t slots[] = {1, 2, 4, 8, 16}, chunks[] = {1, 16, 61, 64};
    for (size_t s = 0; s < sizeof slots / sizeof *slots; s++)
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
            int64_t bytes = RING_BYTES / chunks[c] * chunks[c];
            pto_plan_t *plan = ring_plan(slots[s], chunks[c], bytes);
            double copy_s = copy_s_of((double)bytes / (double)chunks[c]);
            double c_s = (double)chunks[c] * copy_s;
            double seconds = price_in_all_ways(plan);
            assert_near(seconds, slots[s] == 1 ? 2 * c_s : copy_s + c_s, 0.015);
        }
}

/* The two sides of a ring differ: the slower one decides, after the other has filled the ring. */
TEST(a_ring_costs_what_its_slower_side_takes) {
    static const int64_t slots[] = {1, 2, 3, 8};
    pto_param_t *beta = &machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET].beta_s_per_byte;
    const double before = beta->value;
    static const double factors[] = {0.1, 0.17, 0.289, 0.49, 0.84, 1.42, 2.41, 4.1, 6.98};
    for (size_t f = 0; f < sizeof factors / sizeof *factors; f++)
        for (size_t s = 0; s < sizeof slots / sizeof *slots; s++) {
            pto_plan_t *plan = ring_plan(slots[s], 512, RING_BYTES);
            beta->value = factors[f] * before;
            price_in_all_ways(plan);
        }
    beta->value = before;
}

/* Both copies of a slot are in the queue of one GPU, which the closed sum over the rounds moves on, too. */
TEST(a_ring_inside_a_gpu_has_a_closed_sum) {
    pto_cost_row_t row = {.procs = 2, .below_bytes = INT64_MAX};
    row.postal = machine.copies[PTO_COPY_H2D][PTO_REACH_ON_SOCKET];
    row.postal.beta_s_per_byte.value *= 1.7;
    machine.shared_copies[PTO_COPY_H2D] = machine.shared_copies[PTO_COPY_D2H] =
        (pto_cost_table_t){.count = 1, .row = &row};
    shape.one_gpu = true;
    for (int64_t slots = 1; slots <= 4; slots++) {
        pto_plan_t *plan = ring_plan(slots, 256, RING_BYTES);
        assert_near(must_price(plan, &machine).seconds, must_walk(plan, &machine).seconds, 1e-9);
        price_in_all_ways(plan);
    }
    shape.one_gpu = false;
    machine.shared_copies[PTO_COPY_H2D] = machine.shared_copies[PTO_COPY_D2H] = (pto_cost_table_t){0};
}

/* The ring is in the receiver's memory, which is on another socket than the sender. */
TEST(a_ring_between_sockets_pays_for_the_distance) {
    pto_postal_t *far = &machine.copies[PTO_COPY_D2H][PTO_REACH_OFF_SOCKET];
    const double bytes = RING_BYTES / 64.0, near_s = copy_s_of(bytes), far_s = 9e-6 + 5e-11 * bytes;
    pto_plan_t *plan[2];
    for (int sockets = 1; sockets <= 2; sockets++) {
        shape.two_sockets = sockets == 2;
        plan[sockets - 1] = ring_plan(4, 64, RING_BYTES);
    }
    shape.two_sockets = false;
    assert_near(price_in_all_ways(plan[1]), 65 * near_s, 0.015); /* without a cost of the distance */
    far->alpha_s = (pto_param_t){.value = 9e-6, .line = 1};
    far->beta_s_per_byte = (pto_param_t){.value = 5e-11, .line = 1};
    assert_near(price_in_all_ways(plan[0]), 65 * near_s, 0.015);
    assert_near(price_in_all_ways(plan[1]), 64 * far_s + near_s, 0.015);
    *far = (pto_postal_t){0};
}

TEST(the_explanation_of_a_ring_sums_to_its_price) {
    pto_plan_t *plan = ring_plan(4, 512, RING_BYTES);
    assert_explained(plan, &machine);
}

TEST(a_ring_is_proved) {
    static const int64_t slots[] = {1, 2, 4, 8, 16}, chunks[] = {1, 16, 64};
    for (size_t s = 0; s < sizeof slots / sizeof *slots; s++)
        for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++)
            assert_right(ring_plan(slots[s], chunks[c], 6400));
}

TEST(a_ring_without_credits_is_refused) {
    shape.no_credits = true;
    refused_for(ring_plan(4, 16, 6400),
                "writes bytes 0..399 of 'ring' of rank 1, unordered with rank 1's read");
    shape.no_credits = false;
}

int main(void) { return run_all_tests(read_machine, NULL); }
