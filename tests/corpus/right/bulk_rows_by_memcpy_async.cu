#include <cuda/barrier>

using barrier = cuda::barrier<cuda::thread_scope_block>;

// The first thread of each row copies the row of both tiles.
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ alignas(16) float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ alignas(16) float Nds[TILE_WIDTH][TILE_WIDTH];
    __shared__ barrier bar;

    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    if (tx == 0 && ty == 0) init(&bar, TILE_WIDTH * TILE_WIDTH);
    __syncthreads();

    float Pvalue = 0.0f;
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        if (tx == 0) {
            constexpr auto bytes = cuda::aligned_size_t<16>(TILE_WIDTH * sizeof(float));
            cuda::memcpy_async(Mds[ty], M + Row * Width + ph * TILE_WIDTH, bytes, bar);
            cuda::memcpy_async(Nds[ty], N + (ph * TILE_WIDTH + ty) * Width + blockIdx.x * TILE_WIDTH, bytes, bar);
        }
        bar.arrive_and_wait();
        for (int k = 0; k < TILE_WIDTH; ++k) Pvalue += Mds[ty][k] * Nds[k][tx];
        __syncthreads();
    }
    P[Row * Width + Col] = Pvalue;
}
