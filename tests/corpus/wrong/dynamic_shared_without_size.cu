extern __shared__ float smem[];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    float* Ms = smem;
    float* Ns = smem + TILE_WIDTH * TILE_WIDTH;
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    unsigned row = blockIdx.y * blockDim.y + ty, col = blockIdx.x * blockDim.x + tx;
    float v = 0;
    for (unsigned t = 0; t < (unsigned)Width; t += TILE_WIDTH) {
        Ms[ty * TILE_WIDTH + tx] = row < Width && t + tx < Width ? M[(size_t)row * Width + t + tx] : 0;
        Ns[ty * TILE_WIDTH + tx] = t + ty < Width && col < Width ? N[(size_t)(t + ty) * Width + col] : 0;
        __syncthreads();
        for (unsigned k = 0; k < TILE_WIDTH; ++k) v += Ms[ty * TILE_WIDTH + k] * Ns[k * TILE_WIDTH + tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[(size_t)row * Width + col] = v;
}
