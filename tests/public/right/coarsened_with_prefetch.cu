#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif
#ifndef COARSE_FACTOR
#define COARSE_FACTOR 4
#endif
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float m[TILE_WIDTH][TILE_WIDTH];
    __shared__ float n[COARSE_FACTOR][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH * COARSE_FACTOR + tx;
    float acc[COARSE_FACTOR] = {}, held[COARSE_FACTOR], first = M[row * Width + tx];
    for (int c = 0; c < COARSE_FACTOR; ++c) held[c] = N[ty * Width + col + c * TILE_WIDTH];
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        m[ty][tx] = first;
        for (int c = 0; c < COARSE_FACTOR; ++c) n[c][ty][tx] = held[c];
        __syncthreads();
        int next = k0 + TILE_WIDTH;
        if (next < Width) {
            first = M[row * Width + next + tx];
            for (int c = 0; c < COARSE_FACTOR; ++c) held[c] = N[(next + ty) * Width + col + c * TILE_WIDTH];
        }
        for (int k = 0; k < TILE_WIDTH; ++k)
            for (int c = 0; c < COARSE_FACTOR; ++c) acc[c] += m[ty][k] * n[c][k][tx];
        __syncthreads();
    }
    for (int c = 0; c < COARSE_FACTOR; ++c) P[row * Width + col + c * TILE_WIDTH] = acc[c];
}
