//!tilelab block=(TILE_WIDTH/2, TILE_WIDTH/2) grid=(ceil(Width/TILE_WIDTH), ceil(Width/TILE_WIDTH))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    constexpr int H = TILE_WIDTH / 2;
    __shared__ float As[TILE_WIDTH][TILE_WIDTH + 1];
    __shared__ float Bs[TILE_WIDTH][TILE_WIDTH];
    const int t = threadIdx.y * H + threadIdx.x;
    const int row0 = blockIdx.y * TILE_WIDTH, col0 = blockIdx.x * TILE_WIDTH;
    float acc[2][2] = {{0.0f, 0.0f}, {0.0f, 0.0f}};
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        #pragma unroll
        for (int i = t; i < TILE_WIDTH * TILE_WIDTH; i += H * H) {
            int r = i / TILE_WIDTH, c = i % TILE_WIDTH;
            As[r][c] = (row0 + r < Width && k0 + c < Width) ? M[(row0 + r) * Width + k0 + c] : 0.0f;
            Bs[r][c] = (k0 + r < Width && col0 + c < Width) ? N[(k0 + r) * Width + col0 + c] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            float a[2], b[2];
            #pragma unroll
            for (int i = 0; i < 2; ++i) {
                a[i] = As[threadIdx.y + i * H][k];
                b[i] = Bs[k][threadIdx.x + i * H];
            }
            #pragma unroll
            for (int i = 0; i < 4; ++i) acc[i / 2][i % 2] += a[i / 2] * b[i % 2];
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            int row = row0 + threadIdx.y + i * H, col = col0 + threadIdx.x + j * H;
            if (row < Width && col < Width) P[row * Width + col] = acc[i][j];
        }
}
