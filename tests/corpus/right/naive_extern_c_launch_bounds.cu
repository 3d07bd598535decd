extern "C" __global__ void __launch_bounds__(256) MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    unsigned row = blockIdx.y * blockDim.y + threadIdx.y;
    unsigned col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < (unsigned)Width && col < (unsigned)Width) {
        float sum = 0.0f;
        for (unsigned k = 0; k < (unsigned)Width; ++k) sum += M[row * Width + k] * N[k * Width + col];
        P[row * Width + col] = sum;
    }
}
