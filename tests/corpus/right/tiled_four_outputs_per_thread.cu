//!tilelab block=(TILE_WIDTH, TILE_WIDTH/4)
#define ROWS (TILE_WIDTH / 4)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Nds[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        for (int y = threadIdx.y; y < TILE_WIDTH; y += ROWS) {
            int row = blockIdx.y * TILE_WIDTH + y;
            Mds[y][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
            Nds[y][tx] = (col < Width && k0 + y < Width) ? N[(k0 + y) * Width + col] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            for (int i = 0; i < 4; ++i)
                sum[i] += Mds[threadIdx.y + i * ROWS][k] * Nds[k][tx];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        int row = blockIdx.y * TILE_WIDTH + threadIdx.y + i * ROWS;
        if (row < Width && col < Width) P[row * Width + col] = sum[i];
    }
}
