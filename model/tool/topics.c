/* Help on questions and words, for those who do not know yet which command they need. */
#include "topics.h"

#include <stddef.h>
#include <string.h>

static const pto_topic_t topics[] = {
    {"words", "the words that outputs use",
     "strategy      the route of the data: cuda_aware passes GPU buffers to MPI,\n"
     "              three_step copies to the host, communicates and copies back\n"
     "              (`portolan help strategies`)\n"
     "algorithm     the pattern of messages inside a collective: ring, bruck, ...\n"
     "plan          what every process does, step by step: to price, simulate or run\n"
     "machine file  the measured costs of one machine (`portolan help machines`)\n"
     "scenario      a question: collective, nodes, processes, sizes\n"
     "near-tie      two prices too close for the model to tell apart\n"
     "unsure        a pick that rests on a cost that is not known, or not well enough\n"
     "regret        how much longer the pick takes than the best\n"},
    {"strategies", "their names, spelled out",
     "cuda_aware               CUDA-aware MPI: the library gets GPU buffers\n"
     "three_step               copy to the host, communicate, copy back\n"
     "extra_message            the same; messages share it out over a GPU's processes\n"
     "dup_devptr               the same; each process copies its share from the GPU\n"
     "staged_ring, split_ring  a ring through the host in chunks, by one process\n"
     "                         of a GPU, or by all\n"
     "gsb, btb                 inside a node: one GPU-shared buffer, or a binomial\n"
     "                         tree of buffers\n"
     "gsb_gsb to btb_btb       one of them inside each GPU, one between the GPUs\n"
     "gas_read, gas_split, ... one kernel per GPU, in a global address space\n"
     "mix, mix_gsb             gsb, with some members staged through the host\n"
     "node_leaders, node_aware blocks for another node are combined, and sent by one\n"
     "                         process, or by all\n"
     "staged_leaders, _aware   the same from host memory\n"
     "ipc_copy, shm_ring       one message in a node: by CUDA IPC, or shared memory\n"
     "nccl                     NVIDIA's own library\n"
     "mpi, own_algorithm       host memory: the MPI library's collective, or the\n"
     "                         cheapest algorithm that portolan runs itself\n"
     "\n"
     "`portolan list strategies` says which collectives each serves.\n"},
    {"gpu-aware", "GPU buffers to MPI, or through the host?",
     "  portolan pick --machine NAME --collective allreduce --nodes 8 \\\n"
     "      --bytes 1KiB:64MiB --strategy cuda_aware,three_step\n"
     "\n"
     "docs/how-to/gpu-aware-or-staged.md reads the answer line by line.\n"},
    {"nic", "which NIC, or a second one?",
     "  portolan upgrade WORKLOAD.yaml\n"
     "  portolan predict SCENARIO.yaml --what-if 'injection.*=/2'\n"
     "\n"
     "docs/how-to/which-nic.md has an example with costs.\n"},
    {"open-mpi", "what do I put into Open MPI?",
     "  portolan export --for openmpi-4.1 --machine NAME --nodes 2:64 --out rules.conf\n"
     "\n"
     "docs/how-to/open-mpi.md says how Open MPI reads the file, and how to check one.\n"},
    {"machines", "a machine file of my own",
     "measured         mpirun -n 80 --map-by ppr:40:node --bind-to core \\\n"
     "                     portolan-calibrate --out samples.csv\n"
     "                 portolan fit samples.csv --name mine --out mine.yaml\n"
     "from datasheets  portolan machine new --name mine --gpus 8 ...\n"
     "                 (`portolan help machine`)\n"
     "made of others   inherits: NAME, or node: NAME and network: NAME\n"
     "                 (docs/formats.md)\n"
     "changed          --what-if PARAMETER=VALUE; `portolan list parameters` shows all\n"},
    {"units", "how numbers may be written",
     "sizes   4096, 4KiB, 64MiB; ranges 64:64KiB (by factors of 2), 64:64KiB:4\n"
     "times   5 us, 2 ms; in machine files without a unit: seconds\n"
     "rates   50 GB/s, 400 Gbit/s, 20 ps/B; without a unit: seconds per byte\n"},
    {"exit-codes", "what scripts can rely on",
     "0  done\n"
     "1  failed: a file is missing, unreadable or wrong (file:line:column: message),\n"
     "   no strategy can be priced, a plan is wrong, or the output cannot be written\n"
     "2  wrong usage: an option is unknown, lacks its value, or has one that is\n"
     "   wrong or does not go with the others\n"
     "3  export: the file is complete and has no rule; its comments say why\n"
     "\n"
     "Errors go to standard error. Only a 0 or a 3 means that standard output is\n"
     "complete.\n"
     "Ctrl-C ends a command by the signal. `portolan run` ends as its program does.\n"},
};

const pto_topic_t *pto_topic_at(int i) {
    return i < (int)(sizeof topics / sizeof *topics) ? &topics[i] : NULL;
}

const pto_topic_t *pto_topic_find(const char *name) {
    const pto_topic_t *topic = NULL;
    for (int i = 0; (topic = pto_topic_at(i)); i++)
        if (strcmp(topic->name, name) == 0)
            return topic;
    return NULL;
}
