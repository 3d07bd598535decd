#define TILE_WIDTH 64
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int p = 0; p < Width / TILE_WIDTH; ++p) {
        Ms[ty][tx] = M[row * Width + p * TILE_WIDTH + tx];
        Ns[ty][tx] = N[(p * TILE_WIDTH + ty) * Width + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
