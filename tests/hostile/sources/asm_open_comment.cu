__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { P[0] = 1; asm volatile("/*"); P[1] = 2; }
