__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width)
    {
        float sum = 0.0f;
        for (int k = 0; k < Width; k++)
        {
            float a = M[row * Width + k];
            float b = N[k * Width + col];
            sum += a * b;
        }
        P[row * Width + col] = sum;
    }
}
