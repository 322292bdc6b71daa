/* Hash tables by open addressing, against a plain list. */
#include "base/slots.h"
#include "test.h"

typedef struct {
    uint64_t key[2];
    uint64_t value;
} slot_t;

enum { KEYS = 700, STEPS = 40000 };

/* Many of them agree in one word. */
static void make_key(unsigned number, uint64_t key[2]) {
    key[0] = 1 + number % 7;
    key[1] = number / 7 * (UINT64_C(1) << 32);
}

static void must_have(const pto_slots_t *slots, const uint64_t value[KEYS]) {
    size_t count = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        uint64_t key[2];
        make_key(i, key);
        const slot_t *found = pto_slots_find(slots, key);
        assert_int_equal(found != NULL, value[i] != 0);
        if (found) {
            assert_int_equal(found->value, value[i]);
            assert_memory_equal(found->key, key, slots->key_words * sizeof *key);
        }
        count += value[i] != 0;
    }
    assert_int_equal(slots->count, count);
}

TEST(a_table_keeps_what_is_added_until_it_is_removed) {
    pto_slots_t slots = {.slot_size = sizeof(slot_t), .key_words = 2};
    uint64_t value[KEYS] = {0}, state = 1;
    must_have(&slots, value);
    for (uint64_t step = 1; step <= STEPS; step++) {
        const unsigned which = (unsigned)(pto_random(&state) % KEYS);
        const bool removes = pto_random(&state) % 3 == 0;
        uint64_t key[2];
        make_key(which, key);
        slot_t *found = pto_slots_find(&slots, key);
        if (removes && found)
            pto_slots_remove(&slots, found);
        else if (!removes) {
            slot_t *added = pto_slots_add(&slots, key);
            assert_non_null(added);
            assert_int_equal(added->value, value[which]); /* a new one is zero */
            added->value = step;
        }
        value[which] = removes ? 0 : step;
        if (step % 1000 == 0)
            must_have(&slots, value);
    }
    free(slots.slot);
}

TEST(keys_of_one_word_are_found_by_it_alone) {
    pto_slots_t slots = {.slot_size = sizeof(slot_t), .key_words = 1};
    for (uint64_t key = 1; key <= 1000; key++)
        ((slot_t *)pto_slots_add(&slots, &key))->key[1] = 3 * key;
    for (uint64_t key = 1; key <= 1000; key++)
        assert_int_equal(((const slot_t *)pto_slots_find(&slots, &key))->key[1], 3 * key);
    assert_null(pto_slots_find(&slots, &(const uint64_t){1001}));
    free(slots.slot);
}
