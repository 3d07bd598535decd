enum { TILE_WIDTH = 4, CELLS = TILE_WIDTH * TILE_WIDTH };
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float cells[2][CELLS];
    float *Ms = cells[0], *Ns = cells[1];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + y, col = blockIdx.x * TILE_WIDTH + x;
    float v = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[y * TILE_WIDTH + x] = (row < Width && k0 + x < Width) ? M[row * Width + k0 + x] : 0;
        Ns[y * TILE_WIDTH + x] = (col < Width && k0 + y < Width) ? N[(k0 + y) * Width + col] : 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) v += Ms[y * TILE_WIDTH + k] * Ns[k * TILE_WIDTH + x];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = v;
}
