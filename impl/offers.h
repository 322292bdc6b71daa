/* Memory of one process that others on its node access. Internal to the executor. */
#ifndef PTO_OFFERS_H
#define PTO_OFFERS_H

#include "executor.h"

/* Room for `count` offers of each process of the node. */
pto_status_t pto_offers_prepare(pto_exec_t *exec, size_t count, pto_error_t *err);

/* All processes of the node exchange what they offer, and open what they use. Collective; `status` is this
 * process's so far. */
pto_status_t pto_offers_share(pto_exec_t *exec, pto_status_t status, pto_error_t *err);

#endif
