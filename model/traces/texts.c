/* A hash table of texts and their numbers. */
#include "texts.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static size_t slot_of(const pto_text_index_t *index, const char *text) {
    uint64_t hash = pto_hash_bytes(PTO_HASH_START, text, strlen(text));
    size_t slot = (size_t)hash & (index->slots - 1);
    while (index->slot[slot] && strcmp(index->text[index->slot[slot] - 1], text) != 0)
        slot = (slot + 1) & (index->slots - 1);
    return slot;
}

static bool grow(pto_text_index_t *index) {
    const size_t slots = index->slots ? 2 * index->slots : 256;
    char **text = realloc(index->text, slots / 2 * sizeof *text);
    if (text)
        index->text = text;
    int *slot = text ? calloc(slots, sizeof *slot) : NULL;
    if (!slot)
        return false;
    free(index->slot);
    index->slot = slot;
    index->slots = slots;
    for (int i = 0; i < index->count; i++)
        index->slot[slot_of(index, index->text[i])] = i + 1;
    return true;
}

int pto_text_index_add(pto_text_index_t *index, const char *text) {
    if ((size_t)index->count >= index->slots / 2 && !grow(index))
        return -1;
    size_t slot = slot_of(index, text);
    if (index->slot[slot])
        return index->slot[slot] - 1;
    index->text[index->count] = strdup(text);
    if (!index->text[index->count])
        return -1;
    index->slot[slot] = ++index->count;
    return index->count - 1;
}

int pto_text_index_find(const pto_text_index_t *index, const char *text) {
    return index->slots > 0 ? index->slot[slot_of(index, text)] - 1 : -1;
}

void pto_text_index_fini(pto_text_index_t *index) {
    for (int i = 0; i < index->count; i++)
        free(index->text[i]);
    free(index->text);
    free(index->slot);
    *index = (pto_text_index_t){.count = 0};
}

void pto_drop_escapes(char *text) {
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (from[0] == '\033' && from[1] == '[') {
            from += 2;
            while (*from && !isalpha((unsigned char)*from))
                from++;
            if (!*from)
                break;
            continue;
        }
        *to++ = *from;
    }
    *to = '\0';
}
