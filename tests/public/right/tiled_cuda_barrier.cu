#include <cuda/barrier>
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    int tx = threadIdx.x, ty = threadIdx.y;
    if (tx == 0 && ty == 0) init(&bar, blockDim.x * blockDim.y);
    __syncthreads();
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[ty][tx] = row < Width && k0 + tx < Width ? M[row * Width + k0 + tx] : 0;
        Ns[ty][tx] = k0 + ty < Width && col < Width ? N[(k0 + ty) * Width + col] : 0;
        bar.arrive_and_wait();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx];
        bar.arrive_and_wait();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
