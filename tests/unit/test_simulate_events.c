/* The simulator's event queue: what fires when, and the order of events at equal times. */
#include "simulate/events.h"
#include "test.h"

/* The next events are of these slots, and no others follow. */
static void takes(pto_agenda_t *agenda, const uint32_t *expected, size_t count) {
    uint32_t slot = 0;
    double time_s;
    for (size_t i = 0; i < count; i++) {
        assert_true(pto_agenda_take(agenda, &slot, &time_s));
        assert_int_equal(slot, expected[i]);
    }
    assert_false(pto_agenda_take(agenda, &slot, &time_s));
}

TEST(events_fire_in_the_order_of_their_times) {
    enum { SLOTS = 1000 };
    pto_agenda_t agenda;
    assert_true(pto_agenda_init(&agenda, SLOTS));
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        pto_agenda_set(&agenda, slot, (double)(slot * 7919 % 101), false);
    for (uint32_t slot = 0; slot < SLOTS; slot += 3) /* another time, which holds */
        pto_agenda_set(&agenda, slot, (double)(slot * 31 % 97), slot % 2 == 0);
    for (uint32_t slot = 0; slot < SLOTS; slot += 10)
        pto_agenda_set(&agenda, slot, INFINITY, false);
    uint32_t slot;
    double time_s, before_s = -1;
    int taken = 0;
    for (; pto_agenda_take(&agenda, &slot, &time_s); taken++) {
        assert_true(slot % 10 != 0 && time_s >= before_s);
        assert_true(time_s == (double)(slot % 3 ? slot * 7919 % 101 : slot * 31 % 97));
        before_s = time_s;
    }
    assert_int_equal(taken, SLOTS - SLOTS / 10);
    pto_agenda_fini(&agenda);
}

TEST(equal_times_fire_in_insertion_order_and_late_events_last) {
    pto_agenda_t agenda;
    assert_true(pto_agenda_init(&agenda, 8));
    pto_agenda_set(&agenda, 0, 1, true);
    pto_agenda_set(&agenda, 5, 1, false);
    pto_agenda_set(&agenda, 2, 1, false);
    pto_agenda_set(&agenda, 7, 2, false);
    const uint32_t expected[] = {5, 2, 3, 0, 7};
    uint32_t slot = 0;
    double time_s;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(pto_agenda_take(&agenda, &slot, &time_s));
        assert_int_equal(slot, expected[i]);
        if (slot == 5)
            pto_agenda_set(&agenda, 3, 1, false); /* while that time is being gone through */
    }
    assert_false(pto_agenda_take(&agenda, &slot, &time_s));
    pto_agenda_fini(&agenda);
}

/* A number of a list of events may have been that of one for the same time, whose events were not late. */
TEST(events_set_while_late_ones_are_handled_come_first) {
    pto_agenda_t agenda;
    uint32_t slot = 0;
    double time_s;
    assert_true(pto_agenda_init(&agenda, 8));
    pto_agenda_set(&agenda, 0, 1, false);
    takes(&agenda, (const uint32_t[]){0}, 1);
    pto_agenda_set(&agenda, 1, 1, true);
    pto_agenda_set(&agenda, 2, 1, true);
    assert_true(pto_agenda_take(&agenda, &slot, &time_s));
    assert_int_equal(slot, 1);
    pto_agenda_set(&agenda, 3, 1, false);
    takes(&agenda, (const uint32_t[]){3, 2}, 2);
    pto_agenda_fini(&agenda);
}

/* A list of events that has been taken to its end is not found again by its time. */
TEST(a_time_can_be_set_again_when_its_events_are_over) {
    pto_agenda_t agenda;
    uint32_t slot = 0;
    double time_s;
    assert_true(pto_agenda_init(&agenda, 8));
    pto_agenda_set(&agenda, 0, 1, false);
    pto_agenda_set(&agenda, 1, 2, false);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(pto_agenda_take(&agenda, &slot, &time_s));
        assert_int_equal(slot, i);
    }
    pto_agenda_set(&agenda, 2, 1, false);
    takes(&agenda, (const uint32_t[]){2}, 1);
    pto_agenda_fini(&agenda);
}
