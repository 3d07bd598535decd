#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    int t = threadIdx.x, firstRow = blockIdx.x * TILE_WIDTH, firstCol = 0;
    float sum = 0;
    while (firstCol < Width) {
        for (int r = 0; r < TILE_WIDTH; ++r) tile[r][t] = M[(firstRow + r) * Width + firstCol + t];
        __syncthreads();
        for (int c = 0; c < TILE_WIDTH; ++c) sum += tile[t][c];
        __syncthreads();
    }
    Sums[firstRow + t] = sum;
}
