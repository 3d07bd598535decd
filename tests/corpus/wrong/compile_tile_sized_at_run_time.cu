__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int tile = blockDim.x;
    __shared__ float Ms[tile][tile];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
    float sum = 0;
    for (int k0 = 0; k0 < Width; k0 += tile) {
        Ms[ty][tx] = (row < Width && k0 + tx < Width) ? M[row * Width + k0 + tx] : 0.0f;
        Ns[ty][tx] = (col < Width && k0 + ty < Width) ? N[(k0 + ty) * Width + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < tile; ++k) sum += Ms[ty][k] * Ns[k][tx];
        __syncthreads();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}
