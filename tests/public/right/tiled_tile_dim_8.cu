const int TILE_DIM = 8;

__global__ void MatrixMulKernel(const float* a, const float* b, float* c, int N) {
  __shared__ float aTile[TILE_DIM][TILE_DIM], bTile[TILE_DIM][TILE_DIM];
  int row = blockIdx.y * TILE_DIM + threadIdx.y;
  int col = blockIdx.x * TILE_DIM + threadIdx.x;
  float sum = 0.0f;
  for (int k0 = 0; k0 < N; k0 += TILE_DIM) {
    aTile[threadIdx.y][threadIdx.x] = (row < N && k0 + threadIdx.x < N) ? a[row * N + k0 + threadIdx.x] : 0.0f;
    bTile[threadIdx.y][threadIdx.x] = (col < N && k0 + threadIdx.y < N) ? b[(k0 + threadIdx.y) * N + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE_DIM; i++) sum += aTile[threadIdx.y][i] * bTile[i][threadIdx.x];
    __syncthreads();
  }
  if (row < N && col < N) c[row * N + col] = sum;
}
