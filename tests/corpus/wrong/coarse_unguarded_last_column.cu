//!tilelab grid=(ceil(Width/(2*TILE_WIDTH)), ceil(Width/TILE_WIDTH))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][2 * TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int c0 = blockIdx.x * 2 * TILE_WIDTH + tx, c1 = c0 + TILE_WIDTH;
    float s0 = 0, s1 = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Mds[ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        Nds[ty][tx] = (k0 + ty < Width && c0 < Width) ? N[(k0 + ty) * Width + c0] : 0.0f;
        Nds[ty][tx + TILE_WIDTH] = (k0 + ty < Width && c1 < Width) ? N[(k0 + ty) * Width + c1] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            s0 += Mds[ty][k] * Nds[k][tx];
            s1 += Mds[ty][k] * Nds[k][tx + TILE_WIDTH];
        }
        __syncthreads();
    }
    if (row < Width && c0 < Width) {
        P[row * Width + c0] = s0;
        P[row * Width + c1] = s1;
    }
}
