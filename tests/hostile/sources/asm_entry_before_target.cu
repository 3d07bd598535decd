__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { asm volatile("ret;\n}\n.entry evil()\n{"); P[0] = 1; }
