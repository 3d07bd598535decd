__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        unsigned int sum = 0;
        for (int k = 0; k < Width; ++k)
            sum += (unsigned int)(long long)(M[row * Width + k] * N[k * Width + col] * 1048576.0f);
        P[row * Width + col] = (int)sum / 1048576.0f;
    }
}
