__global__ void MatrixMulKernel(const float *A, const float *B, float *C, int N) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x;
  const uint y = blockIdx.y * blockDim.y + threadIdx.y;

  // needed when N is not a multiple of the block
  if (x < N && y < N) {
    float tmp = 0.0;
    for (int i = 0; i < N; ++i) {
      tmp += A[x * N + i] * B[i * N + y];
    }
    // C = alpha*(A@B) + beta*C with alpha = 1, beta = 0
    C[x * N + y] = tmp;
  }
}
