__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx;
    int r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    float v = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        if (t < 32)
            for (int i = t; i < TILE_WIDTH * TILE_WIDTH; i += 32) {
                int y = k0 + i / TILE_WIDTH, x = blockIdx.x * TILE_WIDTH + i % TILE_WIDTH;
                B[i / TILE_WIDTH][i % TILE_WIDTH] = y < Width && x < Width ? N[y * Width + x] : 0.0f;
            }
        __syncwarp();
        for (int k = 0; k < TILE_WIDTH && k0 + k < Width; ++k)
            if (r < Width) v += M[r * Width + k0 + k] * B[k][tx];
        __syncthreads();
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
