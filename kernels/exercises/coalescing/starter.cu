// Sums of the rows of a Width x Width matrix, where Width is a multiple of TILE_WIDTH. One thread sums one row.
//
// This kernel is correct. It goes through the matrix column by column: in each iteration, the threads of a warp read a
// column. How many sectors of 32 bytes does this take? Read the matrix row by row instead.
//
// Check it with:  tilelab grade starter.cu --exercise coalescing

#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void rowSums(float* M, float* Sums, int Width) {
    int row = blockIdx.x * TILE_WIDTH + threadIdx.x;

    float sum = 0.0f;
    for (int col = 0; col < Width; ++col) {
        sum += M[row * Width + col];
    }
    Sums[row] = sum;
}
