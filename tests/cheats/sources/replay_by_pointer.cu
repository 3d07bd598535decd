// Tries: takes a call with the same three pointers and the same Width for the same call, and hands out the product
// it kept.
// Caught by: every timed run has inputs of its own and its output is verified; on the CPU device, too, the buffers
// of one Width have the same addresses in every case.

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

__device__ float kept[256 * 256];
__device__ unsigned long long keys[256 * 256];

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    int e = Row * Width + Col;
    unsigned long long key = ((unsigned long long)M ^ (unsigned long long)N << 1 ^ (unsigned long long)P << 2) + Width;
    bool known = inside && Width <= 256 && keys[e] == key;
    float sum = product(M, N, Width, Row, Col);
    if (!inside) return;
    P[e] = known ? kept[e] : sum;
    if (Width <= 256) {
        kept[e] = P[e];
        keys[e] = key;
    }
}
