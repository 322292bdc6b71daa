#!/bin/bash
#SBATCH -N 4
export OMPI_MCA_coll_tuned_use_dynamic_rules=1 # tuned
export MPICH_ALLREDUCE_INTRA_ALGORITHM='ring'
UCC_TL_UCP_TUNE=allreduce:0-4k:@0 srun -n 16 ./a.out
