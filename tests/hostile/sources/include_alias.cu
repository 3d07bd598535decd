_Pragma("include_alias(\"nothing.h\", \"@FILE@\")")
#include "nothing.h"
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[threadIdx.x] = M[threadIdx.x] * N[threadIdx.x]; }
