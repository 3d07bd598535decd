#define TILE_WIDTH 16
__device__ __forceinline__ float pick(const float* m, int r, int c, int n) {
    return (r < n && c < n) ? m[r * n + c] : 0.0f;
}
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    int phases = (Width + TILE_WIDTH - 1) / TILE_WIDTH;
    float nextM = pick(M, row, tx, Width);
    float nextN = pick(N, ty, col, Width);
    float sum = 0;
    for (int ph = 1; ph <= phases; ++ph) {
        Ms[ty][tx] = nextM;
        Ns[ty][tx] = nextN;
        __syncthreads();
        if (ph < phases) {
            nextM = pick(M, row, ph * TILE_WIDTH + tx, Width);
            nextN = pick(N, ph * TILE_WIDTH + ty, col, Width);
        }
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
