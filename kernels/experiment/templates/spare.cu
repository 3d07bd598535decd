// A tiled matrix product that asks for SPARE more KB of shared memory than it uses.
//
// A multiprocessor has a fixed amount of shared memory. If a block takes a larger part, fewer blocks fit. Then
// fewer warps can work while others wait. Nothing else changes, so this shows what occupancy alone is worth.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif
#define SPARE 0

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH * TILE_WIDTH + SPARE * 256];  // 256 floats are 1 KB
    __shared__ float Nds[TILE_WIDTH * TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int column = blockIdx.x * TILE_WIDTH + tx;

    float sum = 0.0f;
    for (int start = 0; start < Width; start += TILE_WIDTH) {
        Mds[ty * TILE_WIDTH + tx] = row < Width && start + tx < Width ? M[row * Width + start + tx] : 0.0f;
        Nds[ty * TILE_WIDTH + tx] = start + ty < Width && column < Width ? N[(start + ty) * Width + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            sum += Mds[ty * TILE_WIDTH + k] * Nds[k * TILE_WIDTH + tx];
        }
        __syncthreads();
    }
    if (row < Width && column < Width) {
        P[row * Width + column] = sum;
    }
}
