#define TILE_WIDTH 16
//!tilelab block=(TILE_WIDTH,TILE_WIDTH) grid=(1+ceil(Width/TILE_WIDTH), 1+ceil(Width/TILE_WIDTH))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    if (blockIdx.x * TILE_WIDTH >= Width || blockIdx.y * TILE_WIDTH >= Width) return;
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0.0F;
    for (int ph = 0; ph <= (Width - 1) / TILE_WIDTH; ph++) {
        int x = ph * TILE_WIDTH + tx, y = ph * TILE_WIDTH + ty;
        Ms[ty][tx] = row < Width && x < Width ? M[row * Width + x] : 0.0F;
        Ns[ty][tx] = y < Width && col < Width ? N[y * Width + col] : 0.0F;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k++) sum += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
