__device__ long long lastTime;
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    long long start = clock64();
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0.0f;
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
    if (row == 0 && col == 0) lastTime = clock64() - start;
}
