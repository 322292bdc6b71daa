/* Topics that `portolan help TOPIC` prints and that are not commands. */
#ifndef PTO_TOPICS_H
#define PTO_TOPICS_H

typedef struct {
    const char *name;
    const char *summary;
    const char *text;
} pto_topic_t;

/* NULL behind the last one. */
const pto_topic_t *pto_topic_at(int i);
const pto_topic_t *pto_topic_find(const char *name);

#endif
