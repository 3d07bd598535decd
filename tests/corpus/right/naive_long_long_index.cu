__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    const long long w = Width;
    const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    const long long col = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < w && col < w) {
        float sum = 0;
        for (long long k = 0; k < w; ++k) sum += M[row * w + k] * N[k * w + col];
        P[row * w + col] = sum;
    }
}
