//!tilelab block=(BS*BS) grid=(ceil(Width/BS), ceil(Width/BS))
#define BS 32
#define CEIL_DIV(M, N) (((M) + (N) - 1) / (N))

__global__ void MatrixMulKernel(const float *A, const float *B, float *C, int Width) {
  const int row = blockIdx.x * BS + (threadIdx.x / BS);
  const int col = blockIdx.y * BS + (threadIdx.x % BS);
  if (row < Width && col < Width) {
    float part = 0.0;
    for (int i = 0; i < Width; ++i) part += A[row * Width + i] * B[i * Width + col];
    C[row * Width + col] = part;
  }
}
