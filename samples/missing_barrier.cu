// Tiled matrix multiplication with one mistake: nothing stops a fast warp from loading the next tiles while a slower
// one still multiplies the present ones. On a GPU it mostly computes the right product all the same.
#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];

    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int col = blockIdx.x * TILE_WIDTH + tx;

    float sum = 0.0f;
    for (int phase = 0; phase < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++phase) {
        int mCol = phase * TILE_WIDTH + tx;
        int nRow = phase * TILE_WIDTH + ty;
        Mds[ty][tx] = row < Width && mCol < Width ? M[row * Width + mCol] : 0.0f;
        Nds[ty][tx] = nRow < Width && col < Width ? N[nRow * Width + col] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += Mds[ty][k] * Nds[k][tx];
    }

    if (row < Width && col < Width)
        P[row * Width + col] = sum;
}
