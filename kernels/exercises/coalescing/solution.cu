// Sums of the rows of a Width x Width matrix, where Width is a multiple of TILE_WIDTH. One thread sums one row.
//
// The block brings a tile of its rows into shared memory, row by row: in one turn, thread t reads column t, and the
// addresses of a warp follow each other. From there each thread reads its own row. That goes by column, which shared
// memory does not mind, as long as the cells of a column lie in different banks: hence the one cell more in each row.

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
