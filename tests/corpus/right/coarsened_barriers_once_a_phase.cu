__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][COARSE_FACTOR * TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE_WIDTH + ty;
    int firstCol = blockIdx.x * TILE_WIDTH * COARSE_FACTOR;
    float Pvalue[COARSE_FACTOR] = {};
    for (int ph = 0; ph < Width / TILE_WIDTH; ++ph) {
        Mds[ty][tx] = M[Row * Width + ph * TILE_WIDTH + tx];
        for (int col = tx; col < COARSE_FACTOR * TILE_WIDTH; col += TILE_WIDTH) {
            Nds[ty][col] = N[(ph * TILE_WIDTH + ty) * Width + firstCol + col];
        }
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            float m = Mds[ty][k];
#pragma unroll
            for (int c = 0; c < COARSE_FACTOR; ++c) {
                Pvalue[c] += m * Nds[k][c * TILE_WIDTH + tx];
            }
        }
        __syncthreads();
    }
    for (int c = 0; c < COARSE_FACTOR; ++c) {
        P[Row * Width + firstCol + c * TILE_WIDTH + tx] = Pvalue[c];
    }
}
