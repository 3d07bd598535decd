#define TILE_WIDTH 16
__device__ __forceinline__ void meet() {
    asm volatile("bar.sync 1, 256;" ::: "memory");
}
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[ty][tx] = row < Width && k0 + tx < Width ? M[row * Width + k0 + tx] : 0;
        Ns[ty][tx] = k0 + ty < Width && col < Width ? N[(k0 + ty) * Width + col] : 0;
        meet();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx];
        meet();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
