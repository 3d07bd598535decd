#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    if (row >= Width || col >= Width) return;
    float sum = 0;
    for (int p = 0; p < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++p) {
        int a = p * TILE_WIDTH + tx, b = p * TILE_WIDTH + ty;
        Ms[ty][tx] = a < Width ? M[row * Width + a] : 0;
        Ns[ty][tx] = b < Width ? N[b * Width + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = sum;
}
