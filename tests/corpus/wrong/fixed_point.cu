__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        long long sum = 0;
        for (int k = 0; k < Width; ++k) {
            long long a = (long long)(M[row * Width + k] * 256.0f);
            long long b = (long long)(N[k * Width + col] * 256.0f);
            sum += a * b;
        }
        P[row * Width + col] = (float)sum / 65536.0f;
    }
}
