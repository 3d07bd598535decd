__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
  __shared__ float sM[TILE_WIDTH][TILE_WIDTH];
  __shared__ float sN[TILE_WIDTH][TILE_WIDTH];
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.f;
  for (int t = 0; t * TILE_WIDTH < Width; t++) {
    int mc = t * TILE_WIDTH + threadIdx.x;
    int nr = t * TILE_WIDTH + threadIdx.y;
    if (r < Width && mc < Width)
      sM[threadIdx.y][threadIdx.x] = M[r * Width + mc];
    else
      sM[threadIdx.y][threadIdx.x] = 0.f;
    if (nr < Width && c < Width)
      sN[threadIdx.y][threadIdx.x] = N[nr * Width + c];
    else
      sN[threadIdx.y][threadIdx.x] = 0.f;
    __syncthreads();
    for (int i = 0; i < TILE_WIDTH; i++)
      sum += sM[threadIdx.y][i] * sN[i][threadIdx.x];
  }
  if (r < Width && c < Width) P[r * Width + c] = sum;
}
