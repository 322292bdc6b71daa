/* PTO_ANYWHERE marks a function that runs on the CPU and, where nvcc compiles it, on the GPU as well. */
#ifndef PTO_ANYWHERE_H
#define PTO_ANYWHERE_H

#ifdef __CUDACC__
#define PTO_ANYWHERE __host__ __device__
#else
#define PTO_ANYWHERE
#endif

#endif
