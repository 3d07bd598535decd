__global__ void evil_15MatrixMulKernel(float *P) { P[0] = 1; }
__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[threadIdx.x] = M[threadIdx.x] * N[threadIdx.x]; }
