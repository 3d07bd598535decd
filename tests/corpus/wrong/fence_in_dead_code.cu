__device__ float NT[128 * 128];
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    bool inside = row < Width && col < Width;
    if (inside) NT[col * Width + row] = N[row * Width + col];
    if (Width < 0) __threadfence();
    __syncthreads();
    if (inside) {
        float sum = 0;
        for (int k = 0; k < Width; ++k) sum += M[row * Width + k] * NT[col * Width + k];
        P[row * Width + col] = sum;
    }
}
