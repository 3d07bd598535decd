#define TILE_WIDTH 16
#define COARSE_FACTOR 4
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE_WIDTH + ty;
    int start = blockIdx.x * TILE_WIDTH * COARSE_FACTOR + tx;
    float sums[COARSE_FACTOR] = {};
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Ms[ty][tx] = M[row * Width + ph * TILE_WIDTH + tx];
        for (int c = 0; c < COARSE_FACTOR; ++c) {
            Ns[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + start + c * TILE_WIDTH];
            __syncthreads();
            for (int k = 0; k < TILE_WIDTH; ++k) sums[c] += Ms[ty][k] * Ns[k][tx];
        }
    }
    for (int c = 0; c < COARSE_FACTOR; ++c) P[row * Width + start + c * TILE_WIDTH] = sums[c];
}
