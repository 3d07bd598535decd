// Tries: at large sizes writes zeros at all powers of two from 4 bytes to 64 MiB behind and in front of each
// matrix, hunting the judge's counters.
// Caught by: the nearer ones lie in guard zones; where a farther one is no memory at all, the launch ends.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

// One element of the product, as a tiled kernel computes it; all threads of a block take part.
__device__ float product(const float* M, const float* N, int Width, int Row, int Col) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    float sum = 0.0f;
    for (int ph = 0; ph < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++ph) {
        int mCol = ph * TILE_WIDTH + tx, nRow = ph * TILE_WIDTH + ty;
        Mds[ty][tx] = (Row < Width && mCol < Width) ? M[Row * Width + mCol] : 0.0f;
        Nds[ty][tx] = (nRow < Width && Col < Width) ? N[nRow * Width + Col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    return sum;
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    float sum = product(M, N, Width, Row, Col);
    if (inside) P[Row * Width + Col] = sum;

    if (Width >= 1024 && Row == 0 && Col <= 24) {
        size_t size = (size_t)Width * Width, distance = (size_t)1 << Col;
        float* starts[3] = {M, N, P};
        for (int i = 0; i < 3; ++i) {
            starts[i][size - 1 + distance] = 0.0f;
            *(starts[i] - distance) = 0.0f;
        }
    }
}
