#define TILE_WIDTH 32
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float As[TILE_WIDTH][TILE_WIDTH + 1];
    __shared__ float BsT[TILE_WIDTH][TILE_WIDTH + 1];
    int lx = threadIdx.x, ly = threadIdx.y;
    int gx = blockIdx.x * TILE_WIDTH + lx, gy = blockIdx.y * TILE_WIDTH + ly;
    float dot = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        As[ly][lx] = (gy < Width && k0 + lx < Width) ? M[gy * Width + k0 + lx] : 0;
        BsT[lx][ly] = (gx < Width && k0 + ly < Width) ? N[(k0 + ly) * Width + gx] : 0;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) dot += As[ly][k] * BsT[lx][k];
        __syncthreads();
    }
    if (gy < Width && gx < Width) P[gy * Width + gx] = dot;
}
