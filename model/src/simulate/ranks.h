/* The state of one rank: its stage, the messages that it moves, and its copies and reductions. */
#ifndef PTO_SIMULATE_RANKS_H
#define PTO_SIMULATE_RANKS_H

#include "price/paths.h"
#include "price/pricing.h"
#include "simulate/message_pool.h"
#include "simulate/stages.h"

typedef enum {
    PTO_PROC_BETWEEN,  /* stages */
    PTO_PROC_LANE,     /* waiting for other lanes of its rank */
    PTO_PROC_MESSAGES, /* sending and receiving */
    PTO_PROC_LOCAL,    /* at its own copies, reductions, signals */
    PTO_PROC_FLAGS,    /* waiting for signals */
    PTO_PROC_RESOURCE, /* waiting for what another lane of its rank uses */
    PTO_PROC_NCCL,     /* in an NCCL collective, or waiting for the others to enter */
    PTO_PROC_ENDED,
    PTO_PROC_JOINS,  /* about to begin a stage's copy that nothing slows, */
    PTO_PROC_COPIES, /* making it, */
    PTO_PROC_LEAVES  /* and ending it; or making such a copy in a queue, or a reduction */
} pto_proc_state_t;

/* Sets of a rank's lanes. */
typedef enum {
    PTO_LANES_WAIT,  /* in PTO_PROC_LANE */
    PTO_LANES_QUEUE, /* in PTO_PROC_RESOURCE */
    PTO_LANES_USE,   /* hold what another lane may want, or want it */
    PTO_LANES_SEND,  /* have a message on that side */
    PTO_LANES_RECV,
    PTO_LANES_TO_SEND, /* may have another one for it */
    PTO_LANES_TO_RECV,
    PTO_LANE_SETS
} pto_lane_set_t;

/* A bit for each lane of a rank of the job, by its number over all calls, modulo 64. */
typedef struct {
    uint64_t lanes[PTO_LANE_SETS];
} pto_lane_sets_t;

/* One side, sending or receiving, of a rank: a cache line. */
typedef struct {
    _Alignas(64) uint32_t message; /* the current message; 0: none */
    uint8_t waits;                 /* the pto_link_kind_t that it waits for; PTO_LINKS_PER_NODE: none */
    uint8_t moved; /* a bit for each pto_level_t of which it has moved a message in this stage */
    double start_s;
    double alpha_s; /* of the message, to this side */
    double bytes_s;
    double link_s;       /* what it needs of its node's link */
    double through_s[2]; /* when links let the message through; INFINITY: unknown. Sending: the injection and
                            the message rate of its node. Receiving: its ejection, and the sender's injection
                            once the sender is done with the message */
    pto_message_queue_t queue; /* sends that were held back; arrivals not yet received */
} pto_side_t;

_Static_assert(sizeof(pto_side_t) == 64, "a side is to stay within a cache line");

/* Seconds of a side: sums, and those of its stage. */
typedef struct {
    double busy_s;
    double waiting_s;
    double link_s; /* what its messages need of its node's link, which is busy so long if it delays none */
    double stage_busy_s;
} pto_side_use_t;

/* What all copies and reductions of a rank need. Where they are alone in their stages (pto_passage_t), the
 * rank never touches pto_local_t. */
typedef struct {
    double busy_s;
    double end_s; /* of a copy that is alone */
} pto_brief_t;

/* A rank's copies, reductions and lanes. Ranks that only send and receive never touch it. The first cache
 * line is its step, the second its copy; the others are used where copies queue, and by lanes. */
typedef struct {
    _Alignas(64) uint32_t rank;
    uint32_t copy_next; /* in its engine's list, as its first */
    int64_t local_peer; /* of a copy or reduction done for each peer: the next peer's number */
    int local_step;
    pto_behind_t behind; /* what its current copy follows; in lanes, those of the stage */
    double copy_left;    /* remaining fraction of its copy, from 1 to 0 */
    double copy_end_s;   /* when it ends, if that is known and its event is another; else 0 */
    int copy_flows;      /* those that have not ended */
    uint8_t holds;       /* 1 + the pto_lane_resource_t that it uses now; 0: none */
    uint8_t wants;       /* the same for one that it waits for */
    bool in_branch;      /* of an either node, whose current stage it passes */
    bool copy_waits;     /* only for its flows */
    double wants_s;      /* since when it waits for what it wants */
    double waiting_s;
    _Alignas(64) pto_sim_copy_t copy; /* its current one */
    pto_path_t copy_path;             /* what its copy shares once its turn has come */
} pto_local_t;

/* A rank. The first cache line is its stage, the next two are its sides; an event touches the first one and
 * one of the others. The last one is read and written when a message ends. */
typedef struct {
    _Alignas(64) const pto_passage_t *at; /* the stage that it has reached */
    double stage_s;     /* when its messages were posted, its current local step began, or it ended */
    uint64_t expected;  /* sum over the outstanding messages, 0 at the end: see message_digest */
    uint32_t send_next; /* the number of the next peer to send to, of send_count, */
    uint32_t send_count;
    uint32_t send_me;  /* by the group's member with this index, */
    int16_t send_step; /* in this step of the stage */
    uint8_t state;     /* a pto_proc_state_t */
    bool sends_made_all;
    uint32_t sends_open; /* generated but not finished */
    uint32_t recvs_open;
    uint32_t rank; /* of the plan */
    int32_t node;
    uint32_t early; /* heap of messages to later stages, held back or arrived */
    uint16_t lane;
    uint8_t waits_sender; /* as `waits`, for a link of the sender of its received message */
    bool streams;         /* whether its last copy is in its stream, and not waited for */
    pto_side_t out;
    pto_side_t in;
    pto_side_use_t sending;
    pto_side_use_t receiving;
} pto_proc_t;

_Static_assert(sizeof(pto_proc_t) == 256, "a rank is to stay within four cache lines");

#endif
