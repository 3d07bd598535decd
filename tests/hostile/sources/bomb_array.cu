__device__ int big[1 << 26] = {1, 2, 3};
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[0] = big[threadIdx.x]; }
