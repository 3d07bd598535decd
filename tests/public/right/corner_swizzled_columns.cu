#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif
__global__ void MatrixMulKernel(const float* __restrict__ M, const float* __restrict__ N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * TILE_WIDTH + y, base = blockIdx.x * TILE_WIDTH;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[y][x] = M[row * Width + k0 + x];
        Ns[y][x ^ y] = N[(base + y) * Width + k0 + x];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[y][k] * Ns[x][k ^ x];
        __syncthreads();
    }
    P[row * Width + base + x] = sum;
}
