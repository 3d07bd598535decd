#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH], Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float v = 0;
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Ms[ty][tx] = M[row * Width + ph * TILE_WIDTH + tx];
        Ns[ty][tx] = N[(ph * TILE_WIDTH + ty) * Width + col];
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) v += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    P[row * Width + col] = v;
}
