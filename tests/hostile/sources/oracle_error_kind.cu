#if 0
#else
#include "@FILE@/x"
#endif
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[threadIdx.x] = M[threadIdx.x] * N[threadIdx.x]; }
