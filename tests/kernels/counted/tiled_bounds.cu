__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
  __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
  __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
  int tx = threadIdx.x, ty = threadIdx.y;
  int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
  float sum = 0;
  for (int ph = 0; ph < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
    int k0 = ph * TILE_WIDTH;
    Mds[ty][tx] = Row < Width && k0 + tx < Width ? M[Row * Width + k0 + tx] : 0;
    Nds[ty][tx] = k0 + ty < Width && Col < Width ? N[(k0 + ty) * Width + Col] : 0;
    __syncthreads();
    for (int k = 0; k < TILE_WIDTH; ++k) sum += Mds[ty][k] * Nds[k][tx];
    __syncthreads();
  }
  if (Row < Width && Col < Width) P[Row * Width + Col] = sum;
}
