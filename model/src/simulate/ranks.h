/* The state of one rank of a simulation, or of one lane of a rank (simulate_internal.h): its stage, the
 * messages that it sends and receives, its copies and reductions. The structs are divided into cache lines so
 * that an event touches few of them. */
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
    /* In a stage whose only local step nothing slows (begin_only_local): */
    PTO_PROC_JOINS,  /* its copy is about to begin, */
    PTO_PROC_COPIES, /* is under way, */
    PTO_PROC_LEAVES  /* is about to end; or a queued copy or a reduction is under way */
} pto_proc_state_t;

/* Sets of a rank's lanes. */
typedef enum {
    PTO_LANES_WAIT,    /* in PTO_PROC_LANE */
    PTO_LANES_QUEUE,   /* in PTO_PROC_RESOURCE */
    PTO_LANES_USE,     /* hold a resource, or wait for one */
    PTO_LANES_SEND,    /* are sending a message */
    PTO_LANES_RECV,    /* are receiving one */
    PTO_LANES_TO_SEND, /* may have another message to send */
    PTO_LANES_TO_RECV, /* may have another one to receive */
    PTO_LANE_SETS
} pto_lane_set_t;

/* A bit for each lane of a rank of the job, by its number over all calls, modulo 64. */
typedef struct {
    uint64_t lanes[PTO_LANE_SETS];
} pto_lane_sets_t;

/* Indices of pto_side_t.through_s. LINK: the node's injection or ejection, or flows (routes.c). RATE: of a
 * sending side, the message rate. SENDER: of a receiving side, the sender's injection once the sender is
 * done. */
enum { PTO_THROUGH_LINK, PTO_THROUGH_RATE, PTO_THROUGH_SENDER = 1 };

/* One side, sending or receiving, of a rank: a cache line. */
typedef struct {
    _Alignas(64) uint32_t message; /* the current message; 0: none */
    uint8_t waits;                 /* the pto_link_kind_t that it waits for; PTO_LINKS_PER_NODE: none */
    uint8_t moved; /* a bit for each pto_level_t of which it has moved a message in this stage */
    double start_s;
    double alpha_s; /* of the message, to this side */
    double bytes_s;
    double link_s;             /* the message's time on the node's link, alone */
    double through_s[2];       /* when links let the message through; INFINITY: not known yet */
    pto_message_queue_t queue; /* sends that were held back; arrivals not yet received */
} pto_side_t;

_Static_assert(sizeof(pto_side_t) == 64, "a side is to stay within a cache line");

/* Seconds of a side, for the report: sums over all stages, and those of the current one. */
typedef struct {
    double busy_s;
    double waiting_s;
    double link_s; /* of its messages on the node's link; the link's busy time if it delays none of them */
    double stage_busy_s;
} pto_side_use_t;

/* The fields of pto_local_t that all copies and reductions need. A rank whose copies and reductions are the
 * only local steps of their stages (pto_passage_t) never touches pto_local_t. */
typedef struct {
    double busy_s;
    double end_s; /* of a copy that is its stage's only local step */
} pto_local_hot_t;

/* A rank's copies, reductions and lanes. Ranks that only send and receive never touch it. The first cache
 * line is its step, the second its copy; the others are used where copies queue, and by lanes. */
typedef struct {
    _Alignas(64) uint32_t rank;
    uint32_t copy_next; /* in its engine's list: a process, numbered as pto_engine_t.first */
    int64_t local_peer; /* of a copy or reduction done for each peer: the next peer's number */
    int local_step;
    pto_behind_t behind; /* the operation that its copy follows; in lanes, that of all copies of the stage */
    double copy_left;    /* remaining fraction of its copy, from 1 to 0 */
    double copy_end_s;   /* of a queued copy that waits for its turn: when it will end; else 0 */
    int copy_flows;      /* the number of its flows (routes.c) that have not ended */
    uint8_t holds;       /* 1 + the pto_lane_resource_t that it uses now; 0: none */
    uint8_t wants;       /* the same for one that it waits for */
    bool in_branch;      /* of an either node, whose current stage it passes */
    bool copy_waits;     /* it has ended but for its flows */
    double wants_s;      /* since when it waits for the resource */
    double waiting_s;
    _Alignas(64) pto_sim_copy_t copy; /* its current one */
    pto_path_t copy_path;             /* of a queued copy: the links that it will use */
} pto_local_t;

/* A rank. The first cache line is its stage, the next two are its sides; an event touches the first one and
 * one of the others. The last one is read and written when a message ends. */
typedef struct {
    _Alignas(64) pto_passage_t *at; /* the stage that it has reached */
    double stage_s;     /* when its messages were posted, its current local step began, or it ended */
    uint64_t expected;  /* sum over the outstanding messages, 0 at the end: pto_sim_message_digest */
    uint32_t send_next; /* in the current step: the number of the next peer to send to, of send_count */
    uint32_t send_count;
    uint32_t send_me;    /* the rank's index in the group of that step */
    int16_t send_step;   /* the current step, by its number in the stage */
    uint8_t state;       /* a pto_proc_state_t */
    bool sends_made_all; /* all sends of the stage have been generated */
    uint32_t sends_open; /* generated but not finished */
    uint32_t recvs_open;
    uint32_t rank; /* of the plan */
    int32_t node;
    uint32_t early; /* heap of messages for later stages: arrived, or held back by their sender */
    uint16_t lane;
    uint8_t waits_sender; /* as `waits`, for a link of the sender of its received message */
    bool streams;         /* its last copy is in a stream that has not been drained */
    pto_side_t out;
    pto_side_t in;
    pto_side_use_t sending;
    pto_side_use_t receiving;
} pto_proc_t;

_Static_assert(sizeof(pto_proc_t) == 256, "a rank is to stay within four cache lines");

#endif
