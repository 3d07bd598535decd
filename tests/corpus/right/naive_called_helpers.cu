__device__ __noinline__ float at(const float* A, int row, int col, int width) { return A[row * width + col]; }
__device__ __noinline__ void addProduct(float* sum, float a, float b) { *sum += a * b; }

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < Width && col < Width) {
        float sum = 0;
        for (int k = 0; k < Width; ++k) addProduct(&sum, at(M, row, k, Width), at(N, k, col, Width));
        P[row * Width + col] = sum;
    }
}
