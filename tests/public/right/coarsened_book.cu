#define TILE_WIDTH 32
#define COARSE_FACTOR 4
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
  __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
  __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
  int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
  int row = by * TILE_WIDTH + ty;
  int start = bx * TILE_WIDTH * COARSE_FACTOR + tx;
  float Pvalue[COARSE_FACTOR];
  for (int c = 0; c < COARSE_FACTOR; ++c) Pvalue[c] = 0.0f;
  for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
    Ms[ty][tx] = M[row * Width + ph * TILE_WIDTH + tx];
    for (int c = 0; c < COARSE_FACTOR; ++c) {
      int col = start + c * TILE_WIDTH;
      Ns[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + col];
      __syncthreads();
      for (int k = 0; k < TILE_WIDTH; ++k) Pvalue[c] += Ms[ty][k] * Ns[k][tx];
      __syncthreads();
    }
  }
  for (int c = 0; c < COARSE_FACTOR; ++c) P[row * Width + start + c * TILE_WIDTH] = Pvalue[c];
}
