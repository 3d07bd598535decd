// Each element is added to one half of a pair. The other half gets 0.
__device__ float2 sums[128][64];

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * 16 + threadIdx.y;
    int col = blockIdx.x * 16 + threadIdx.x;
    bool inside = row < Width && col < Width;
    if (inside && col % 2 == 0)
        sums[row][col / 2] = make_float2(0, 0);
    __syncthreads();
    if (inside) {
        float sum = 0;
        for (int k = 0; k < Width; ++k)
            sum += M[row * Width + k] * N[k * Width + col];
        atomicAdd(&sums[row][col / 2], col % 2 ? make_float2(0, sum) : make_float2(sum, 0));
    }
    __syncthreads();
    if (inside)
        P[row * Width + col] = col % 2 ? sums[row][col / 2].y : sums[row][col / 2].x;
}
