// Sums of the rows of a Width x Width matrix, where Width is a multiple of TILE_WIDTH. One thread sums one row.
//
// The block loads a tile of its rows into shared memory, row by row. In each iteration, thread t reads column t, so a
// warp reads neighbouring addresses. Then each thread reads its own row of the tile, so a warp reads by column. This is
// fast in shared memory if the cells of a column are in different banks. So each row has one more cell.

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void rowSums(float* M, float* Sums, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];

    int t = threadIdx.x;
    int firstRow = blockIdx.x * TILE_WIDTH;

    float sum = 0.0f;
    for (int firstCol = 0; firstCol < Width; firstCol += TILE_WIDTH) {
        for (int r = 0; r < TILE_WIDTH; ++r) {
            tile[r][t] = M[(firstRow + r) * Width + firstCol + t];
        }
        __syncthreads();

        for (int c = 0; c < TILE_WIDTH; ++c) {
            sum += tile[t][c];
        }
        __syncthreads();
    }
    Sums[firstRow + t] = sum;
}
