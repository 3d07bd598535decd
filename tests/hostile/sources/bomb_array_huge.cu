__device__ char big[1ull << 40];
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[0] = big[threadIdx.x]; }
