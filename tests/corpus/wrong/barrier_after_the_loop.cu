__global__ void MatrixMulKernel(float *M, float *N, float *P, int Width)
{
  __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
  __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
  int x = threadIdx.x, y = threadIdx.y;
  int i = blockIdx.y*TILE_WIDTH + y;
  int j = blockIdx.x*TILE_WIDTH + x;
  float s = 0.0f;
  int tiles = (Width-1)/TILE_WIDTH + 1;
  for (int t = 0; t < tiles; ++t)
  {
    float m = 0.0f, n = 0.0f;
    if (i < Width && t*TILE_WIDTH+x < Width) m = M[i*Width + t*TILE_WIDTH+x];
    if (j < Width && t*TILE_WIDTH+y < Width) n = N[(t*TILE_WIDTH+y)*Width + j];
    Ms[y][x] = m;
    Ns[y][x] = n;
    __syncthreads();
    for (int k = 0; k < TILE_WIDTH; ++k)
      s += Ms[y][k]*Ns[k][x];
  }
  __syncthreads();
  if (i < Width && j < Width) P[i*Width + j] = s;
}
