//!tilelab shared=1024*1024
extern __shared__ float mem[];

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    float* Ms = mem;
    float* Ns = mem + TILE_WIDTH * TILE_WIDTH;
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < Width; k0 += TILE_WIDTH) {
        Ms[ty * TILE_WIDTH + tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        Ns[ty * TILE_WIDTH + tx] = (col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE_WIDTH; ++k)
            sum += Ms[ty * TILE_WIDTH + k] * Ns[k * TILE_WIDTH + tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
