__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0;
        int k = 0;
        do {
            sum += M[row * Width + k] * N[k * Width + col];
        } while (++k < Width);
        P[row * Width + col] = sum;
    }
}
