__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    size_t w = Width;
    size_t row = blockIdx.y * blockDim.y + threadIdx.y;
    size_t col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= w || col >= w) return;
    float sum = 0;
    for (size_t k = w; k-- > 0; )
        sum += M[row * w + k] * N[k * w + col];
    P[row * w + col] = sum;
}
