__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) { float a[1 << 26]; for (int i = 0; i < Width; i++) a[i] = M[i]; P[0] = a[Width / 2]; }
