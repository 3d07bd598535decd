__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ unsigned int flags[TILE_WIDTH * TILE_WIDTH / 4];
    __shared__ float B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx;
    int r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    ((bool*)flags)[t] = r < Width && c < Width;
    bool someone = flags[t / 4] != 0;
    float v = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        B[ty][tx] = (c < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + c] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH && k0 + k < Width; ++k)
            if (someone && r < Width) v += M[r * Width + k0 + k] * B[k][tx];
        __syncthreads();
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
