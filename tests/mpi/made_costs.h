/* A machine of known costs on a clock of its own, for tests of what portolan-calibrate measures: noise and
 * slow spells are added as a test wants them. Needs no mpirun. A program that uses it is linked with
 * --wrap=now_s. */
#ifndef PORTOLAN_TESTS_MADE_COSTS_H
#define PORTOLAN_TESTS_MADE_COSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../calibrate/benchmark.h"
#include "../../calibrate/engine.h"
#include "made_clock.h"

/* The cases from 0 on make a machine. Others follow: sizes that take a minute; and elements of 8 bytes with a
 * limit between the second and the third. */
enum { MADE_MACHINE_COUNT = 13, MADE_SLOW = MADE_MACHINE_COUNT, MADE_OF_ELEMENTS };

/* Everything that follows depends on the seed alone. `noise` is a standard deviation, relative. */
void made_begin(int seed, double noise);

/* From now on, everything takes 50 times as long for 20 to 60 ms, again and again, `gap_s` apart in the mean;
 * 0: never. The spells depend on the seed of made_begin, which ends earlier ones. */
void made_spells(double gap_s);

/* The same once, after so many seconds and for so many. */
void made_spell(double after_s, double lasting_s);

/* What a size of a case takes without noise and spells. */
double made_true_s(int index, int64_t bytes);

extern const benchmark_t made_benchmark;
const job_t *made_job(void);
pto_calibrate_options_t made_options(bool exhaustive);
void made_add_case(case_list_t *list, int index);
int made_index(const char *benchmark, const char *level, int procs);

/* Measures the cases first..past-1; returns the seconds that it took. */
double made_measure(const pto_calibrate_options_t *options, int first, int past, const char *path,
                    int *left_out);

/* The sizes of the repetitions of the last made_measure: the first 4096. Returns how many there were. */
int made_asked(const int64_t **bytes);

#endif
