__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float even = 0.0f, odd = 0.0f;
        for (int k = 0; k + 1 < Width; k += 2) {
            even += M[row * Width + k] * N[k * Width + col];
            odd += M[row * Width + k + 1] * N[(k + 1) * Width + col];
        }
        P[row * Width + col] = even + odd;
    }
}
