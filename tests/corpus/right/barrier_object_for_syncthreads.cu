#include <cuda/barrier>
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    __shared__ float A[TILE_WIDTH][TILE_WIDTH], B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    if (tx == 0 && ty == 0) init(&ready, TILE_WIDTH * TILE_WIDTH);
    __syncthreads();
    float v = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        A[ty][tx] = (r < Width && k0 + tx < Width) ? M[r * Width + k0 + tx] : 0.0f;
        B[ty][tx] = (c < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + c] : 0.0f;
        ready.arrive_and_wait();
        for (int k = 0; k < TILE_WIDTH; ++k) v += A[ty][k] * B[k][tx];
        ready.arrive_and_wait();
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
