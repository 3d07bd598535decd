// Tries: calls itself a hundred thousand levels deep at large sizes.
// Caught by: the GPU at those sizes: the launch ends with a fault.

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

__device__ __noinline__ float dive(int levels, const float* M, int Row) {
    volatile float here[64];
    for (int i = 0; i < 64; ++i) here[i] = M[i] + levels;
    float below = levels > 0 ? dive(levels - 1, M, Row) : 0.0f;
    return below + here[(levels + Row) % 64];
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    if (Width >= 1024) {
        float deep = dive(100000 + Width, M, Row);
        if (inside) P[Row * Width + Col] = deep;
        return;
    }
    float sum = product(M, N, Width, Row, Col);
    if (inside) P[Row * Width + Col] = sum;
}
