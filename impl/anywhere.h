/* Functions that the CPU and a GPU run alike. */
#ifndef PTO_ANYWHERE_H
#define PTO_ANYWHERE_H

#ifdef __CUDACC__
#define PTO_ANYWHERE __host__ __device__
#else
#define PTO_ANYWHERE
#endif

#endif
