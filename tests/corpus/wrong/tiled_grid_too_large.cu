//!tilelab grid=(Width/TILE_WIDTH + 1, Width/TILE_WIDTH + 1)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + y, col = blockIdx.x * TILE_WIDTH + x;
    float sum = 0;
    for (int t = 0; t < Width / TILE_WIDTH; ++t) {
        Ms[y][x] = M[row * Width + t * TILE_WIDTH + x];
        Ns[y][x] = N[(t * TILE_WIDTH + y) * Width + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[y][k] * Ns[k][x];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
