__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float B[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * TILE_WIDTH + ty, c = blockIdx.x * TILE_WIDTH + tx;
    float v = 0;
    if ((blockIdx.x + 1) * TILE_WIDTH <= Width && (blockIdx.y + 1) * TILE_WIDTH <= Width && Width % TILE_WIDTH == 0) {
        for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
            B[ty][tx] = N[(k0 + ty) * Width + c];
            __syncthreads();
            for (int k = 0; k < TILE_WIDTH; ++k) v += M[r * Width + k0 + k] * B[k][tx];
            __syncthreads();
        }
    } else {
        for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
            B[ty][tx] = (c < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + c] : 0.0f;
            __syncthreads();
            for (int k = 0; k < TILE_WIDTH && k0 + k < Width; ++k) v += r < Width ? M[r * Width + k0 + k] * B[k][tx] : 0;
            __syncthreads();
        }
    }
    if (r < Width && c < Width) P[r * Width + c] = v;
}
