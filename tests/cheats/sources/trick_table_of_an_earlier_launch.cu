// Tries: keeps a table of where its rows begin from the first launch on, to save that work in timed launches. It is a
// right kernel.
// Caught by: nothing to catch: the table holds nothing of the inputs, which are others each time.

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

__device__ unsigned int launches, blocksDone;
__device__ int table[4096];

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    bool known = atomicAdd(&launches, 0u) > 0u;
    int begin = known && Row < 4096 ? table[Row] : Row;
    float sum = product(M, N, Width, begin, Col);
    if (inside) P[Row * Width + Col] = sum;
    __threadfence();
    __syncthreads();
    __shared__ bool last;
    if (threadIdx.x + threadIdx.y == 0)
        last = atomicAdd(&blocksDone, 1u) == gridDim.x * gridDim.y - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    if (!known)
        for (int i = threadIdx.y * TILE_WIDTH + threadIdx.x; i < 4096; i += TILE_WIDTH * TILE_WIDTH) table[i] = i;
    __threadfence();
    __syncthreads();
    if (threadIdx.x + threadIdx.y == 0) {
        atomicExch(&blocksDone, 0u);
        atomicAdd(&launches, 1u);
    }
}
