__device__ __noinline__ float element(const float* A, int row, int col, int width)
{
    return A[row * width + col * width];
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0.0f;
        for (int k = 0; k < Width; ++k)
            sum += element(M, row, k, Width) * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}
