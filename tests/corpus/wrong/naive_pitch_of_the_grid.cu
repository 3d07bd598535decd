__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int pitch = gridDim.x * blockDim.x;
    if (row < Width && col < Width) {
        float sum = 0;
        for (int k = 0; k < Width; k++)
            sum += M[row * Width + k] * N[k * Width + col];
        P[row * pitch + col] = sum;
    }
}
