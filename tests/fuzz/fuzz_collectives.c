/* Any bytes at all as measured collectives: read whole, or refused with a place and nothing kept; what is
 * read makes cells. */
#include <stdint.h>
#include <stdlib.h>

#include "portolan/score.h"

static void check_cells(const pto_collectives_t *collectives) {
    pto_score_options_t options = pto_score_defaults(collectives);
    pto_score_t score;
    if (pto_score_collect(collectives, &options, &score, NULL) != PTO_OK)
        abort();
    for (int64_t i = 0; i < score.cell_count; i++)
        if (score.cell[i].candidate_count < 2 || !(score.cell[i].margin >= 0) || score.cell[i].bytes < 64)
            abort();
    pto_score_fini(&score);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    pto_collectives_t collectives = {0};
    pto_error_t err = {.status = PTO_OK};
    pto_status_t status = pto_collectives_parse((const char *)data, size, "fuzz.csv", &collectives, &err);
    if (status == PTO_OK)
        check_cells(&collectives);
    else if (collectives.count > 0 || collectives.provenance_count > 0 || collectives.file_count > 0 ||
             err.status != status || err.message[0] == '\0' || err.line < 1 || err.column < 1)
        abort();
    pto_collectives_fini(&collectives);
    return 0;
}
