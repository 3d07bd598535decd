__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float A[3][TILE_WIDTH][TILE_WIDTH], B[3][TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    auto load = [&](int slot, int k0) {
        A[slot][ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        B[slot][ty][tx] = (col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
    };
    load(0, 0);
    load(1, TILE_WIDTH);
    float acc = 0.0f;
    int slot = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        __syncthreads();
        load((slot + 2) % 3, k0 + 2 * TILE_WIDTH);
        for (int k = 0; k < TILE_WIDTH; ++k) acc += A[slot][ty][k] * B[slot][k][tx];
        slot = (slot + 1) % 3;
    }
    if (row < Width && col < Width) P[row * Width + col] = acc;
}
