/* The workload of a training step of a language model, from the sizes of the model and its parallelism: the
 * calls of scenarios/workloads/llm-training.yaml, written as YAML and parsed as a workload file.
 *
 * Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM"
 * (SC 2021, arXiv:2104.04473): its equations 2 (parameters) and 3 (floating-point operations, with
 * activations recomputed in the backward pass), and sections 2.2.1 (the pipeline's bubble), 2.3 (tensor
 * parallelism) and 4.1 (scatter/gather between stages). Experts: Fedus et al., "Switch Transformers"
 * (arXiv:2101.03961), one expert for each token. */
#include "step_numbers.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/text.h"

enum { VALUE_BYTES = 2 /* half precision */, NUMBER_MOST = 1 << 20 };

static pto_status_t check_given(const pto_step_numbers_t *numbers, pto_error_t *err) {
    const struct {
        const char *option;
        bool is_given;
    } needed[] = {{"--layers N", numbers->layers > 0},
                  {"--width N", numbers->width > 0},
                  {"--sequence N", numbers->sequence > 0},
                  {"--flops RATE (what a GPU sustains a second, as 400e12)", numbers->flops_per_s > 0}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].is_given)
            return pto_error_set(err, PTO_ERR_KEY, "a step by its numbers needs %s", needed[i].option);
    return PTO_OK;
}

/* Limits far above any model, so that products of sizes do not overflow. */
static pto_status_t check_sizes(const pto_step_numbers_t *numbers, pto_error_t *err) {
    const struct {
        const char *option;
        int64_t value;
    } given[] = {{"layers", numbers->layers},
                 {"width", numbers->width},
                 {"sequence", numbers->sequence},
                 {"vocabulary", numbers->vocabulary},
                 {"batch", numbers->batch},
                 {"tp", numbers->tp},
                 {"pp", numbers->pp},
                 {"dp", numbers->dp}};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i].value > NUMBER_MOST)
            return pto_error_set(err, PTO_ERR_RANGE, "--%s: %" PRId64 " is above %d", given[i].option,
                                 given[i].value, NUMBER_MOST);
    return PTO_OK;
}

pto_status_t pto_step_numbers_check(const pto_step_numbers_t *numbers, pto_error_t *err) {
    const struct {
        int64_t whole, part;
        const char *whole_option, *part_option;
    } divided[] = {{numbers->layers, numbers->pp, "--layers", "--pp"},
                   {numbers->width, numbers->tp, "--width", "--tp"},
                   {numbers->batch, numbers->microbatch, "--batch", "--microbatch"},
                   {numbers->dp, numbers->ep, "--dp", "--ep"}};
    pto_status_t status = check_given(numbers, err);
    if (status == PTO_OK)
        status = check_sizes(numbers, err);
    for (size_t i = 0; i < sizeof divided / sizeof *divided && status == PTO_OK; i++)
        if (divided[i].whole % divided[i].part != 0)
            status = pto_error_set(err, PTO_ERR_RANGE, "%s: %" PRId64 " is not divisible by %" PRId64 " (%s)",
                                   divided[i].whole_option, divided[i].whole, divided[i].part,
                                   divided[i].part_option);
    const int64_t gpus = status == PTO_OK ? numbers->tp * numbers->pp * numbers->dp : 0;
    if (gpus > numbers->gpus_per_node && gpus % numbers->gpus_per_node != 0)
        status = pto_error_set(err, PTO_ERR_RANGE,
                               "--tp, --pp, --dp: %" PRId64 " GPUs are not whole nodes of %" PRId64
                               " (--gpus-per-node)",
                               gpus, numbers->gpus_per_node);
    return status;
}

/* Equation 2 of Narayanan et al., without the vocabulary. */
static double layer_params(const pto_step_numbers_t *numbers) {
    const double width = (double)numbers->width;
    return 12 * width * width + 13 * width;
}

/* The parameters of one expert, a feed-forward network with two matrices of width x 4 width; 0: no experts.
 */
static double expert_params(const pto_step_numbers_t *numbers) {
    return numbers->ep > 1 ? 8 * (double)numbers->width * (double)numbers->width : 0;
}

/* The computation of a GPU in a step, without the pipeline's bubble. Equation 3: the operations of the matrix
 * products of the layers, times a factor for attention and vocabulary. */
static double compute_s(const pto_step_numbers_t *numbers) {
    const double layers = (double)numbers->layers, width = (double)numbers->width,
                 sequence = (double)numbers->sequence;
    const double factor = 1 + sequence / (6 * width) + (double)numbers->vocabulary / (16 * layers * width);
    return 96 * (double)numbers->batch * sequence * layers * width * width * factor /
           (double)(numbers->tp * numbers->pp) / numbers->flops_per_s;
}

/* The bytes of at least one value. Above 2^60 values they are limited so that they cannot overflow; parsing
 * the call then refuses them. */
static int64_t bytes_of(double values) {
    return values > 1 ? (int64_t)fmin(values, 0x1p60) * VALUE_BYTES : VALUE_BYTES;
}

/* Gradients are reduced in buckets, so whole MiB are precise enough, and tables show a short number. */
static int64_t gradient_bytes(double values) {
    const double mib = round(fmin(values, 0x1p60) * VALUE_BYTES / 0x1p20);
    return mib > 0 ? (int64_t)mib << 20 : bytes_of(values);
}

static void write_head(pto_text_t *yaml, const pto_step_numbers_t *numbers) {
    const int64_t gpus = numbers->tp * numbers->pp * numbers->dp;
    const bool fills_nodes = gpus > numbers->gpus_per_node;
    const double params = (double)numbers->layers *
                              (layer_params(numbers) + (double)(numbers->ep - 1) * expert_params(numbers)) +
                          (double)(numbers->vocabulary + numbers->sequence) * (double)numbers->width;
    pto_text_add(yaml, "workload: \"%.3g billion parameters, %.4g Tflop/s a GPU\"\n", 1e-9 * params,
                 1e-12 * numbers->flops_per_s);
    pto_text_add(yaml, "layout: {nodes: %" PRId64 ", gpus_per_node: %" PRId64 "}\n",
                 fills_nodes ? gpus / numbers->gpus_per_node : 1,
                 fills_nodes ? numbers->gpus_per_node : gpus);
    pto_text_add(yaml, "grid: {pipeline: %" PRId64 ", data: %" PRId64, numbers->pp,
                 numbers->dp / numbers->ep);
    if (numbers->ep > 1)
        pto_text_add(yaml, ", expert: %" PRId64, numbers->ep);
    pto_text_add(yaml, ", tensor: %" PRId64 "}\nstep:\n", numbers->tp);
}

/* The calls of a pipeline stage for all microbatches. Each layer communicates twice in the forward pass,
 * twice in its recomputation and twice in the backward pass. */
static void write_microbatches(pto_text_t *yaml, const pto_step_numbers_t *numbers) {
    const int64_t microbatches = numbers->batch / numbers->microbatch;
    const int64_t layer_times = 6 * (numbers->layers / numbers->pp) * microbatches;
    const double values = (double)numbers->microbatch * (double)numbers->sequence * (double)numbers->width;
    if (numbers->tp > 1)
        pto_text_add(
            yaml,
            "  - {call: activations, on: tensor, collective: allreduce, datatype: half, bytes: %" PRId64
            ", times: %" PRId64 "}\n",
            bytes_of(values), layer_times);
    if (numbers->ep > 1) /* the GPUs of a tensor group share the tokens; each sends its own to the experts */
        pto_text_add(yaml,
                     "  - {call: tokens, on: expert, collective: alltoall, bytes: %" PRId64
                     ", times: %" PRId64 "}\n",
                     bytes_of(values / (double)(numbers->tp * numbers->ep)), layer_times);
    if (numbers->pp > 1)
        pto_text_add(yaml,
                     "  - {call: stage to stage, on: pipeline, collective: messages, bytes: %" PRId64
                     ", times: %" PRId64 "}\n",
                     bytes_of(values / (double)numbers->tp), 2 * microbatches);
}

/* The reduction of gradients, beside the backward pass of the last microbatch, which takes `last_s`. */
static void write_gradients(pto_text_t *yaml, const pto_step_numbers_t *numbers, double last_s) {
    const double gpus = (double)(numbers->tp * numbers->pp); /* that hold one copy of the model */
    const double gpu_layers = (double)numbers->layers / gpus;
    const double embedding =
        (double)(numbers->vocabulary + numbers->sequence) * (double)numbers->width / gpus;
    const double dense = gpu_layers * (layer_params(numbers) - expert_params(numbers)) + embedding;
    if (numbers->dp == 1)
        return;
    pto_text_add(
        yaml,
        "  - at_once:\n    - {call: gradients, on: %s, collective: allreduce, datatype: half, bytes: %" PRId64
        "}\n",
        numbers->ep > 1 ? "[data, expert]" : "data", gradient_bytes(dense));
    if (numbers->ep > 1 && numbers->dp > numbers->ep)
        pto_text_add(
            yaml,
            "    - {call: experts' gradients, on: data, collective: allreduce, datatype: half, bytes: "
            "%" PRId64 "}\n",
            gradient_bytes(gpu_layers * expert_params(numbers)));
    pto_text_add(yaml, "    - {call: last backward, compute: %.9g s}\n", last_s);
}

pto_status_t pto_step_numbers_workload(const pto_step_numbers_t *numbers, pto_workload_t *workload,
                                       pto_error_t *err) {
    const int64_t microbatches = numbers->batch / numbers->microbatch;
    const double all_s = compute_s(numbers);
    /* The backward pass takes as long as the forward pass and its recomputation together. */
    const double last_s = numbers->dp > 1 ? all_s / (double)microbatches / 2 : 0;
    pto_text_t yaml = {0};
    char *text = NULL;
    write_head(&yaml, numbers);
    write_microbatches(&yaml, numbers);
    pto_text_add(&yaml, "  - {call: microbatches, compute: %.9g s}\n", all_s - last_s);
    if (numbers->pp > 1)
        pto_text_add(&yaml, "  - {call: bubble, compute: %.9g s}\n",
                     all_s * (double)(numbers->pp - 1) / (double)microbatches);
    write_gradients(&yaml, numbers, last_s);
    pto_status_t status = pto_text_take(&yaml, "a workload", &text, err);
    if (status == PTO_OK)
        status = pto_workload_parse(text, yaml.length, "the step's numbers", workload, err);
    free(text);
    return status;
}
