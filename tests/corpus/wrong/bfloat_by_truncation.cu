__device__ float bf16(float x)
{
    return __uint_as_float(__float_as_uint(x) & 0xffff0000u);
}

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0.0f;
        for (int k = 0; k < Width; ++k)
            sum += bf16(M[row * Width + k]) * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}
