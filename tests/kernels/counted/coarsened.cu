// Each block makes four tiles of P beside each other, and loads the tile of M once for all of them.
#define COARSE 4
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
  __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
  __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
  int tx = threadIdx.x, ty = threadIdx.y;
  int Row = blockIdx.y * TILE_WIDTH + ty, First = blockIdx.x * TILE_WIDTH * COARSE + tx;
  float sum[COARSE] = {};
  for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
    Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
    for (int c = 0; c < COARSE; ++c) {
      Nds[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + First + c * TILE_WIDTH];
      __syncthreads();
      for (int k = 0; k < TILE_WIDTH; ++k) sum[c] += Mds[ty][k] * Nds[k][tx];
      __syncthreads();
    }
  }
  for (int c = 0; c < COARSE; ++c) P[Row * Width + First + c * TILE_WIDTH] = sum[c];
}
