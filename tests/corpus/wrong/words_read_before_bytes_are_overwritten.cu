__device__ unsigned int inside[64][TILE_WIDTH * TILE_WIDTH / 4];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * TILE_WIDTH + tx, b = blockIdx.y * gridDim.x + blockIdx.x;
    int r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    float v = 0;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        ((unsigned char*)inside[b])[t] = k0 + tx < Width;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; k += 4) {
            unsigned int four = inside[b][(ty * TILE_WIDTH + k) / 4];
            for (int i = 0; i < 4; ++i)
                if ((four >> 8 * i & 1) && r < Width && c < Width)
                    v += M[r * Width + k0 + k + i] * N[(k0 + k + i) * Width + c];
        }
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
