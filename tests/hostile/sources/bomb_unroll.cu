__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width) {
  float s = 0;
  #pragma unroll
  for (int i = 0; i < 1000; i++)
    #pragma unroll
    for (int j = 0; j < 1000; j++)
      #pragma unroll
      for (int k = 0; k < 100; k++) s = s * M[i * j + k] + N[i + j * k];
  P[0] = s;
}
