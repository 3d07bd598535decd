#define COARSE 2
//!tilelab grid=(ceil(Width/(COARSE*TILE_WIDTH)), ceil(Width/TILE_WIDTH))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty;
    int colStart = blockIdx.x * TILE_WIDTH * COARSE + tx;
    float Pvalue[COARSE] = {0.0f, 0.0f};
    for (int ph = 0; ph * TILE_WIDTH < Width; ++ph) {
        int k0 = ph * TILE_WIDTH;
        Mds[ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        for (int c = 0; c < COARSE; ++c) {
            int col = colStart + c * TILE_WIDTH;
            Nds[ty][tx] = (k0 + ty < Width && col < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
            __syncthreads();
            for (int k = 0; k < TILE_WIDTH; ++k)
                Pvalue[c] += Mds[ty][k] * Nds[k][tx];
        }
        __syncthreads();
    }
    for (int c = 0; c < COARSE; ++c) {
        int col = colStart + c * TILE_WIDTH;
        if (row < Width && col < Width) P[row * Width + col] = Pvalue[c];
    }
}
