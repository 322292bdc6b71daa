#!/usr/bin/env bash
# One would guess that a robust regression bounds outliers whatever the rows are divided by: with rows divided by their
# measured times, for errors that are relative, bisquare follows the 12 of 14 sizes that are exactly on a line, and not
# the last two, past a kink.
# Every such row has y = 1. GSL scales residuals by no less than 1e-6 standard deviations of y, and by 1 where these are
# 0. Relative errors of slow samples are below 1, so no weight falls much: Huber's fit is that of least squares to the
# last digit, and bisquare's slope is 14 percent off, with GSL_SUCCESS. The same rows times 1000, or divided by the times
# of the line, give the line.
# GSL 2.7.1+dfsg-5+deb12u1 (Debian 12); gsl_multifit_robust in multifit/multirobust.c.
. "$(dirname "$0")/packages.sh"
unpack libgsl27=2.7.1+dfsg-5+deb12u1 libgslcblas0=2.7.1+dfsg-5+deb12u1 libgsl-dev=2.7.1+dfsg-5+deb12u1
cat >"$work/robust.c" <<'END_C'
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 14, KINK = 12 };

/* robust ols|huber|bisquare measured|line FACTOR: 2 us + 1 ns/B at 1 B to 2 KiB, then 8 us + 0.3 ns/B. Rows are
 * divided by the measured times or by those of the first line, and multiplied by the factor. */
int main(int argc, char **argv) {
    const gsl_multifit_robust_type *type = strcmp(argv[1], "ols") == 0     ? gsl_multifit_robust_ols
                                           : strcmp(argv[1], "huber") == 0 ? gsl_multifit_robust_huber
                                                                           : gsl_multifit_robust_bisquare;
    gsl_matrix *x = gsl_matrix_alloc(COUNT, 2), *covariance = gsl_matrix_alloc(2, 2);
    gsl_vector *y = gsl_vector_alloc(COUNT), *c = gsl_vector_alloc(2);
    for (int i = 0; i < COUNT; i++) {
        double bytes = pow(2, i), line = 2 + 1e-3 * bytes, measured = i < KINK ? line : 8 + 3e-4 * bytes;
        double divisor = (strcmp(argv[2], "measured") == 0 ? measured : line) / atof(argv[3]);
        gsl_matrix_set(x, i, 0, 1 / divisor);
        gsl_matrix_set(x, i, 1, bytes / divisor);
        gsl_vector_set(y, i, measured / divisor);
    }
    gsl_multifit_robust_workspace *space = gsl_multifit_robust_alloc(type, COUNT, 2);
    gsl_set_error_handler_off();
    int status = gsl_multifit_robust(x, y, c, covariance, space);
    printf("%s, %.3f us + %.3f ns/B\n", gsl_strerror(status), gsl_vector_get(c, 0), 1e3 * gsl_vector_get(c, 1));
    return 0;
}
END_C
compile "$work/robust.c" "$work/robust" -lgsl -lgslcblas -lm
export LD_LIBRARY_PATH=$library

squares=$("$work/robust" ols measured 1)
expect "least squares, rows divided by the measured times" "success, 1.984 us + 1.145 ns/B" "$squares"
expect "Huber, the same" "$squares" "$("$work/robust" huber measured 1)"
expect "bisquare, the same" "success, 1.984 us + 1.144 ns/B" "$("$work/robust" bisquare measured 1)"
expect "bisquare, the same rows times 1000" "success, 2.000 us + 1.000 ns/B" "$("$work/robust" bisquare measured 1000)"
expect "bisquare, rows divided by the times of the line" "success, 2.000 us + 1.000 ns/B" \
    "$("$work/robust" bisquare line 1)"
exit "$failed"
