/* The names of enum values in machine files. */
#include <string.h>

#include "base/names.h"
#include "portolan/machine.h"

PTO_NAME_FUNCTION(pto_level_name, pto_level_t, PTO_LEVEL_COUNT, "no level",
                  {[PTO_LEVEL_ON_GPU] = "on_gpu",
                   [PTO_LEVEL_ON_SOCKET] = "on_socket",
                   [PTO_LEVEL_ON_NODE] = "on_node",
                   [PTO_LEVEL_OFF_NODE] = "off_node"});

PTO_NAME_FUNCTION(pto_space_name, pto_space_t, PTO_SPACE_COUNT, "no space",
                  {[PTO_SPACE_CPU] = "cpu", [PTO_SPACE_GPU] = "gpu"});

PTO_NAME_FUNCTION(pto_protocol_name, pto_protocol_t, PTO_PROTOCOL_COUNT, "no protocol",
                  {[PTO_PROTOCOL_SHORT] = "short",
                   [PTO_PROTOCOL_EAGER] = "eager",
                   [PTO_PROTOCOL_RENDEZVOUS] = "rendezvous"});

PTO_NAME_FUNCTION(
    pto_copy_kind_name, pto_copy_kind_t, PTO_COPY_COUNT, "no copy",
    {[PTO_COPY_H2D] = "h2d", [PTO_COPY_D2H] = "d2h", [PTO_COPY_D2D] = "d2d", [PTO_COPY_H2H] = "h2h"});

PTO_NAME_FUNCTION(pto_reach_name, pto_reach_t, PTO_REACH_COUNT, "no reach",
                  {[PTO_REACH_ON_SOCKET] = "on_socket", [PTO_REACH_OFF_SOCKET] = "off_socket"});

PTO_NAME_FUNCTION(pto_remote_name, pto_remote_t, PTO_REMOTE_COUNT, "no access",
                  {[PTO_REMOTE_LOAD] = "load", [PTO_REMOTE_STORE] = "store"});

#define NAME(name, text) [PTO_NCCL_##name] = (text),
PTO_NAME_FUNCTION(pto_nccl_name, pto_nccl_kind_t, PTO_NCCL_COUNT, "no collective", {PTO_NCCL_TABLE(NAME)});

PTO_NAME_FUNCTION(pto_nccl_algorithm_name, pto_nccl_algorithm_t, PTO_NCCL_ALGORITHM_COUNT, "no algorithm",
                  {[PTO_NCCL_ALGORITHM_RING] = "ring", [PTO_NCCL_ALGORITHM_TREE] = "tree"});

PTO_NAME_FUNCTION(pto_nccl_protocol_name, pto_nccl_protocol_t, PTO_NCCL_PROTOCOL_COUNT, "no protocol",
                  {[PTO_NCCL_PROTOCOL_LL] = "ll",
                   [PTO_NCCL_PROTOCOL_LL128] = "ll128",
                   [PTO_NCCL_PROTOCOL_SIMPLE] = "simple"});

PTO_NAME_FUNCTION(pto_basis_name, pto_basis_t, PTO_BASIS_COUNT, "unknown",
                  {[PTO_BASIS_UNKNOWN] = "unknown",
                   [PTO_BASIS_MEASURED] = "measured",
                   [PTO_BASIS_DATASHEET] = "datasheet"});

PTO_NAME_FUNCTION(pto_mps_name, pto_mps_t, PTO_MPS_COUNT, "unknown",
                  {[PTO_MPS_UNKNOWN] = "unknown", [PTO_MPS_NO] = "no", [PTO_MPS_YES] = "yes"});

PTO_NAME_FUNCTION(
    pto_runs_name, pto_runs_t, PTO_RUNS_COUNT, "?",
    {[PTO_RUNS_WAITED] = "waited", [PTO_RUNS_ENQUEUED] = "enqueued", [PTO_RUNS_GRAPH] = "graph"});

PTO_NAME_FUNCTION(pto_runs_text, pto_runs_t, PTO_RUNS_COUNT, "?",
                  {[PTO_RUNS_WAITED] = "waited for one by one",
                   [PTO_RUNS_ENQUEUED] = "enqueued in a stream",
                   [PTO_RUNS_GRAPH] = "captured in graphs"});

pto_mps_t pto_mps_find(const char *name) {
    pto_mps_t found = PTO_MPS_UNKNOWN;
    for (pto_mps_t mps = PTO_MPS_NO; mps < PTO_MPS_COUNT; mps++)
        found = strcmp(name, pto_mps_name(mps)) == 0 ? mps : found;
    return found;
}
