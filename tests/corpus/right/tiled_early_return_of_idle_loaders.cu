//!tilelab block=(2*TILE_WIDTH, TILE_WIDTH/2) grid=(ceil(Width/TILE_WIDTH), ceil(2*Width/TILE_WIDTH))
#define ROWS (TILE_WIDTH / 2)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Ms[ROWS][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    bool helper = tx >= TILE_WIDTH;
    int x = helper ? tx - TILE_WIDTH : tx;
    int row = blockIdx.y * ROWS + ty, col = blockIdx.x * TILE_WIDTH + x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        if (helper) {
            for (int y = ty; y < TILE_WIDTH; y += ROWS)
                Ns[y][x] = (k0 + y < Width && col < Width) ? N[(k0 + y) * Width + col] : 0.0f;
        } else {
            Ms[ty][x] = (row < Width && k0 + x < Width) ? M[row * Width + k0 + x] : 0.0f;
        }
        __syncthreads();
        if (helper && k0 + TILE_WIDTH >= Width) return;
        if (!helper)
            for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][x];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
