static_assert(false, "ptxas info    : Used 1 registers, used 1 barriers, 49153 bytes smem");
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[threadIdx.x] = M[threadIdx.x] * N[threadIdx.x]; }
