__global__ void MatrixMulKernel(const float *a, const float *b, float *c, int N) {
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < N && col < N) {
    int tmp = 0;
    for (int k = 0; k < N; k++) tmp += a[row * N + k] * b[k * N + col];
    c[row * N + col] = tmp;
  }
}
