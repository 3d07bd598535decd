__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float tile[2][2][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float acc = 0.0f;
    int which = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH, which = !which) {
        tile[which][0][ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        tile[which][1][ty][tx] = (col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) acc += tile[which][0][ty][k] * tile[which][1][k][tx];
    }
    if (row < Width && col < Width) P[row * Width + col] = acc;
}
