#include <cuda/barrier>

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    __shared__ cuda::barrier<cuda::thread_scope_block> loaded, used;

    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty, Col = blockIdx.x * TILE_WIDTH + tx;
    if (tx + ty == 0) {
        init(&loaded, TILE_WIDTH * TILE_WIDTH);
        init(&used, TILE_WIDTH * TILE_WIDTH);
    }
    __syncthreads();

    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        if (Row < Width && k0 + tx < Width)
            cuda::memcpy_async(&Mds[ty][tx], &M[Row * Width + k0 + tx], sizeof(float), loaded);
        else
            Mds[ty][tx] = 0.0f;
        if (Col < Width && k0 + ty < Width)
            cuda::memcpy_async(&Nds[ty][tx], &N[(k0 + ty) * Width + Col], sizeof(float), loaded);
        else
            Nds[ty][tx] = 0.0f;
        loaded.arrive_and_wait();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Mds[ty][k] * Nds[k][tx];
        used.arrive_and_wait();
    }
    if (Row < Width && Col < Width) P[Row * Width + Col] = sum;
}
