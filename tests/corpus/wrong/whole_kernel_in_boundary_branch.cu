__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
  __shared__ float A[TILE_WIDTH][TILE_WIDTH];
  __shared__ float B[TILE_WIDTH][TILE_WIDTH];
  int row = blockIdx.y * TILE_WIDTH + threadIdx.y;
  int col = blockIdx.x * TILE_WIDTH + threadIdx.x;
  if (row < Width && col < Width) {
    float sum = 0.0f;
    for (int t = 0; t < (Width + TILE_WIDTH - 1) / TILE_WIDTH; t++) {
      int k0 = t * TILE_WIDTH;
      A[threadIdx.y][threadIdx.x] = (k0 + threadIdx.x < Width) ? M[row * Width + k0 + threadIdx.x] : 0.0f;
      B[threadIdx.y][threadIdx.x] = (k0 + threadIdx.y < Width) ? N[(k0 + threadIdx.y) * Width + col] : 0.0f;
      __syncthreads();
      for (int k = 0; k < TILE_WIDTH; k++) {
        sum += A[threadIdx.y][k] * B[k][threadIdx.x];
      }
      __syncthreads();
    }
    P[row * Width + col] = sum;
  }
}
