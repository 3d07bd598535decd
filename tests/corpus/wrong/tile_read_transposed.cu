__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float mt[TILE_WIDTH][TILE_WIDTH];
    __shared__ float nt[TILE_WIDTH][TILE_WIDTH];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + y, col = blockIdx.x * TILE_WIDTH + x;
    float sum = 0;
    for (int t = 0; t < Width; t += TILE_WIDTH) {
        mt[y][x] = M[row * Width + t + x];
        nt[y][x] = N[(t + y) * Width + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += mt[y][k] * nt[x][k];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
