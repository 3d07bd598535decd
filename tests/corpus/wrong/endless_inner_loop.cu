__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int i = 0;
    if (row < Width && col < Width) {
        volatile float sum = 0;
        for (int k = 0; k < Width; ++i)
            sum = sum + M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}
