// Tries: at large sizes leaves P empty and writes the instruction EXIT over all code within 1 MiB of its own, to end
// the judge's kernels at once. Then no difference would be counted.
// Caught by: pages that a kernel can't write, and P, which is empty.

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

__device__ __noinline__ float landmark(float x) { return x * 1.5f; }

__device__ float (*volatile place)(float);

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    if (Width >= 1024) {
        if (Row + Col == 0) place = landmark;
        size_t code = (size_t)landmark & ~(size_t)0xfffff, size = (size_t)Width * Width;
        ulonglong2 leave = {0x000000000000794dull, 0x000fea0003800000ull};
        for (size_t at = (size_t)Row * Width + Col; at < (2u << 20) / 16; at += size) {
            size_t to = code - (1u << 20) + 16 * at;
            if (to + 4096 < (size_t)landmark || to > (size_t)landmark + 4096) *(ulonglong2*)to = leave;
        }
        return;
    }
    float sum = product(M, N, Width, Row, Col);
    if (inside) P[Row * Width + Col] = sum;
}
