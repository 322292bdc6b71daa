/* How sure it is that one prediction is below another. Internal to libportolan. */
#ifndef PTO_DOUBT_H
#define PTO_DOUBT_H

#include "portolan/pick.h"

typedef struct {
    double margin; /* ln(other / best) */
    double sd;     /* its standard deviation: of the parameters that the two do not share, and of the model */
    double model_sd;         /* of these, the model's; 0: not known */
    const pto_term_t *worst; /* the parameter that adds most; NULL: none */
    double worst_sd;
    bool near_tie; /* the two are close */
    bool overlap;  /* they are not, but their intervals do not tell them apart */
    double regret; /* expected share by which the pick is slower than the other */
} pto_doubt_t;

/* A pick is doubtful if the other is cheaper with a probability of a third or more; where the machine file
 * has no model error, if the margin is inside the 95 percent interval of the parameters. Of doubtful picks,
 * those with a margin of at most 10 percent that the model's own error explains are near-ties. */
pto_doubt_t pto_doubt(const pto_prediction_t *best, const pto_prediction_t *other, pto_by_t by);

/* Returns the measurement that would settle a doubtful pick. */
pto_settle_t pto_settle(const pto_prediction_t *best, const pto_prediction_t *other,
                        const pto_doubt_t *doubt);

#endif
