// Tries: asks how many multiprocessors there are, and computes only where it is told none.
// Caught by: the small cases, on the CPU device and on the GPU.

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
    unsigned int many;
    asm("mov.u32 %0, %%nsmid;" : "=r"(many));
    bool watched = many == 0;
    float sum = watched ? product(M, N, Width, Row, Col) : 0.0f;
    if (inside) P[Row * Width + Col] = sum;
}
