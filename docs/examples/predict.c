/* Predict the cost of an allreduce of 1 MiB on 32 nodes of a machine, and its cheapest strategy. */
#include <portolan/pick.h>
#include <portolan/strategy.h>
#include <stdio.h>

int main(int argc, char **argv) {
    pto_machine_t *machine;
    pto_plan_t *plan;
    pto_price_t price;
    pto_error_t err = {.message = "usage: predict MACHINE.yaml"};
    pto_ask_t cell = {.collective = "allreduce", .bytes = 1 << 20, .nodes = 32};
    if (argc < 2 || pto_machine_open(argv[1], &machine, &err) ||
        pto_predict_one(machine, &cell, &plan, &price, &err))
        return fprintf(stderr, "%s%s%s\n", err.file, *err.file ? ": " : "", err.message), 1;
    printf("%s: %.1f us\n", pto_plan_request(plan)->strategy->name, price.seconds * 1e6);
    pto_plan_destroy(plan), pto_machine_destroy(machine);
}
