#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[2][TILE_WIDTH][TILE_WIDTH], Ns[2][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    int phases = (Width + TILE_WIDTH - 1) / TILE_WIDTH, now = 0;
    Ms[0][ty][tx] = row < Width && tx < Width ? M[row * Width + tx] : 0;
    Ns[0][ty][tx] = ty < Width && col < Width ? N[ty * Width + col] : 0;
    float sum = 0;
    for (int ph = 1; ph <= phases; ++ph) {
        __syncthreads();
        if (ph < phases) {
            int a = ph * TILE_WIDTH + tx, b = ph * TILE_WIDTH + ty;
            Ms[now][ty][tx] = row < Width && a < Width ? M[row * Width + a] : 0;
            Ns[now][ty][tx] = b < Width && col < Width ? N[b * Width + col] : 0;
        }
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[now][ty][k] * Ns[now][k][tx];
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
