#!/usr/bin/env bash
# One would guess that gnuplot stops a fit whose model is not defined: of log(a + b*x) to the logarithms of exact times
# 5e-6 + 1e-10*x, which weighs errors by their ratio, it finds a and b, or says "undefined value" once a + b*x < 0.
# The logarithm of a negative number is complex in gnuplot, and the fit takes its real part, so the model is
# log|a + b*x|, which has other minima. From a = b = 1 the fit "converges" to a = 0.98 and a negative b; from twice the
# right a and ten times the right b, to a negative b as well. With weights in place of the logarithms it finds both.
# gnuplot 5.4.4+dfsg1-2+b2 (Debian 12); f_log in standard.c, call_gnuplot in fit.c.
. "$(dirname "$0")/packages.sh"
unpack gnuplot-nox=5.4.4+dfsg1-2+b2
"$root/usr/bin/gnuplot-nox" -e "print 1" >/dev/null 2>"$work/run" || skip "gnuplot: $(tail -1 "$work/run")"
for i in $(seq 0 30); do
    awk "BEGIN { printf \"%d %.12g\\n\", 2^$i, 5e-6 + 1e-10 * 2^$i }"
done >"$work/times"

# fitted MODEL USING START
fitted() {
    (cd "$work" && "$root/usr/bin/gnuplot-nox" -e "set fit quiet; $3; fit $1 'times' using $2 via a, b;
        set print; print sprintf('%s, a %s, b %s', FIT_CONVERGED ? 'converged' : 'not converged',
            abs(a / 5e-6 - 1) < 0.01 ? 'right' : 'wrong',
            abs(b / 1e-10 - 1) < 0.01 ? 'right' : b < 0 ? 'negative' : 'wrong')" 2>&1 | tail -1)
}

# shellcheck disable=SC2016 # columns of gnuplot
logarithm='1:(log($2))' weighted='1:2:(0.05*$2) yerrors'
expect "logarithms, from 1 and 1" "converged, a wrong, b negative" "$(fitted 'log(a + b*x)' "$logarithm" 'a = 1; b = 1')"
expect "logarithms, from near" "converged, a wrong, b negative" \
    "$(fitted 'log(a + b*x)' "$logarithm" 'a = 1e-5; b = 1e-9')"
expect "weights" "converged, a right, b right" "$(fitted 'a + b*x' "$weighted" 'a = 1; b = 1')"
exit "$failed"
