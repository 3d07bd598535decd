__global__ void MatrixMulKernel(const float* __restrict__ M, const float* __restrict__ N, float* __restrict__ P, int Width)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= Width) return;
    if (col >= Width) return;
    float sum = 0.0f;
    for (int k = 0; k < Width; ++k)
        sum = fmaf(__ldg(M + row * Width + k), __ldg(N + k * Width + col), sum);
    P[row * Width + col] = sum;
}
