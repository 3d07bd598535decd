__global__ void MatrixMulKernel(const float* __restrict__ M, const float* __restrict__ N, float* __restrict__ P, int Width)
{
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    const int r = blockIdx.y * TILE_WIDTH + threadIdx.y;
    const int c = blockIdx.x * TILE_WIDTH + threadIdx.x;
    float dot = 0.0f;
    for (int t = 0; t < Width; t += TILE_WIDTH) {
        Ms[threadIdx.y][threadIdx.x] = (r < Width && t + threadIdx.x < Width) ? M[r * Width + t + threadIdx.x] : 0.0f;
        Ns[threadIdx.y][threadIdx.x] = N[(t + threadIdx.y) * Width + c];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE_WIDTH; ++k)
            dot += Ms[threadIdx.y][k] * Ns[k][threadIdx.x];
        __syncthreads();
    }
    if (r < Width && c < Width)
        P[r * Width + c] = dot;
}
