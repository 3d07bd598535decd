//!tilelab grid=(ceil(Width/TILE_WIDTH), ceil(Width/(2*TILE_WIDTH)))
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    __shared__ float Ms[2][TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int top = blockIdx.y * 2 * TILE_WIDTH + ty, low = top + TILE_WIDTH;
    int col = blockIdx.x * TILE_WIDTH + tx;
    float a = 0.0f, b = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[0][ty][tx] = (top < Width && k0 + tx < Width) ? M[top * Width + k0 + tx] : 0.0f;
        Ms[1][ty][tx] = (low < Width && k0 + tx < Width) ? M[low * Width + k0 + tx] : 0.0f;
        Ns[ty][tx] = (k0 + ty < Width && col < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k) {
            a += Ms[0][ty][k] * Ns[k][tx];
            b += Ms[1][ty][k] * Ns[k][tx];
        }
        __syncthreads();
    }
    if (top < Width && col < Width) P[top * Width + col] = a;
    if (low < Width && col < Width) P[low * Width + col] = b;
}
